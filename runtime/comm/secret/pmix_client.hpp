// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

namespace lockstep::comm {

// Publishes values of a rank at the PMIx daemon that started it (srun --mpi=pmix, mpirun) and reads
// those of other ranks of its job. It works together with MPI and without MPI.
class PmixClient {
public:
    // Returns null if PMIx did not start this process, libpmix is not installed, or the daemon does
    // not answer. If MPI holds a PMIx, the result uses MPI's connection, because a second
    // connection of the same rank would confuse Open MPI 4's daemon.
    static std::unique_ptr<PmixClient> connect();
    // Returns MPI's connection, which must outlive the object; null if MPI has none yet.
    static std::unique_ptr<PmixClient> of_mpi();
    ~PmixClient();
    PmixClient(const PmixClient&) = delete;
    PmixClient& operator=(const PmixClient&) = delete;

    // Returns false if the daemon refuses the value.
    bool put(const std::string& key, const std::string& value);
    // Returns a value that `rank` has put; empty if it does not arrive within `timeout_ms`.
    std::optional<std::string> get(int rank, const std::string& key, int timeout_ms) const;
    // The result is ready when every rank of the job has called fence(); it is false if the daemon
    // refuses. The fence carries the values that the ranks have put: a fence without data does not
    // make Slurm's daemons on different nodes wait for each other in jobs with fewer nodes than its
    // TreeWidth.
    std::future<bool> fence() const;
    // Returns an empty result if the launcher does not tell.
    std::optional<std::string> host_of(int rank) const;

private:
    struct Library;
    explicit PmixClient(std::shared_ptr<const Library> library, std::string name_space);
    static std::unique_ptr<PmixClient> join(const std::shared_ptr<const Library>& library);

    std::shared_ptr<const Library> library_;
    std::string name_space_;
};

}  // namespace lockstep::comm
