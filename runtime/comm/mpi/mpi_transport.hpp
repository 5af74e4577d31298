// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/comm/mpi/mpi_module.hpp"
#include "runtime/comm/mpi/mpi_session.hpp"
#include "runtime/comm/owner_sums.hpp"
#include "runtime/comm/transport.hpp"

namespace lockstep::comm {

// Starts MPI's collectives without blocking and then tests them with sleeps in between. Open MPI's
// own waits spin and would take a core from the computation that overlaps with them.
class MpiTransport : public Transport {
public:
    // Initialises MPI and uses its world directly; nothing else in this process may use it.
    explicit MpiTransport(const MpiOptions& options);
    ~MpiTransport() override;

    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return size_; }
    // Returns the number of ranks on this host. The call is collective.
    int local_size();

    void all_reduce(HostRange range, ReduceOp reduction) override;
    void reduce_scatter(HostRange range, ReduceOp reduction) override;
    void all_gather(HostRange from, HostRange to) override;
    void broadcast(HostRange range, int root) override;
    void send(HostRange range, int to) override;
    void recv(HostRange range, int from) override;
    void exchange(std::optional<Message> sent, std::optional<Message> received) override;
    void barrier() override;
    std::unique_ptr<Transport> split(int colour) override;
    void interrupt() noexcept override { interrupted_ = true; }
    void abort(int exit_code) noexcept override;
    void set_timeout(int timeout_ms) noexcept override { timeout_ms_ = timeout_ms; }

private:
    class OwnerMessages;

    MpiTransport(std::shared_ptr<MpiSession> session, MPI_Comm communicator,
                 const MpiOptions& options);
    void find_rank();
    template <class Start>
    void complete(const char* what, const Start& start);
    void wait(const char* what, MPI_Request& request);
    MPI_Request start_send(const HostRange& range, int to);
    MPI_Request start_recv(const HostRange& range, int from);
    void sum_by_owner(const HostRange& range, OwnerResult result);

    std::shared_ptr<MpiSession> session_;  // MPI ends with the last communicator
    MPI_Comm communicator_ = MPI_COMM_NULL;
    MpiOptions options_;
    std::atomic<int> timeout_ms_{options_.timeout_ms};
    int rank_ = 0;
    int size_ = 1;
    std::atomic<bool> interrupted_{false};
    // MPI may write here after an operation was given up, so it lives as long as this object.
    std::array<std::vector<std::byte>, 2> arriving_memory_;
};

}  // namespace lockstep::comm
