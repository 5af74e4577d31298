// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

namespace lockstep::comm {

// What a rank leaves with the PMIx daemon that started it (srun --mpi=pmix, mpirun), and finds
// there of other ranks of its job. Beside MPI, and where there is no MPI.
class PmixClient {
public:
    // Null where PMIx did not start this process, libpmix is not installed, or the daemon does not
    // answer. Where MPI holds a PMIx it is MPI's connection: a second one of the same rank would
    // upset Open MPI 4's daemon.
    static std::unique_ptr<PmixClient> connect();
    // MPI's connection, which must outlive this; null while MPI has none.
    static std::unique_ptr<PmixClient> of_mpi();
    ~PmixClient();
    PmixClient(const PmixClient&) = delete;
    PmixClient& operator=(const PmixClient&) = delete;

    // False where the daemon refuses it.
    bool put(const std::string& key, const std::string& value);
    // A value that `rank` has put; empty where it does not come within `timeout_ms`.
    std::optional<std::string> get(int rank, const std::string& key, int timeout_ms) const;
    // Ready when every rank of the job has called it; false where the daemon refuses it. What the
    // ranks have put goes along: without data Slurm's daemons of different nodes do not wait for
    // each other in jobs of fewer nodes than its TreeWidth.
    std::future<bool> fence() const;
    // Empty where the launcher does not tell.
    std::optional<std::string> host_of(int rank) const;

private:
    struct Library;
    explicit PmixClient(std::shared_ptr<const Library> library, std::string name_space);
    static std::unique_ptr<PmixClient> join(const std::shared_ptr<const Library>& library);

    std::shared_ptr<const Library> library_;
    std::string name_space_;
};

}  // namespace lockstep::comm
