// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/nccl_session.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::comm {

// Uses NCCL's collectives among ranks with one GPU each. Operations run on the context's
// communication stream. Each starts after the work that the compute stream was given before it.
// finish() makes the compute stream wait for an event that follows the operation; the host waits
// only until NCCL has accepted the operation. Communicators that split() made
// give NCCL their operations in the order of the calls. When a rank fails or hangs, the waiting
// operations are aborted and take_timings() or the next operation throws kind peer; the GPU's
// results until then are invalid.
class NcclCommunicator final : public Collectives<CudaSpace> {
public:
    // Joins the ranks of `host`, which brings the id of rank 0 to all. The call is collective and
    // waits. The context must outlive the communicator.
    NcclCommunicator(device::CudaContext& context, Communicator& host, int timeout_ms);
    ~NcclCommunicator() override;

    int rank() const noexcept override { return session_->rank(); }
    int size() const noexcept override { return session_->size(); }

    Ticket all_reduce(Range<CudaSpace> range, ReduceOp reduction, std::string label) override;
    Ticket reduce_scatter(Range<CudaSpace> range, ReduceOp reduction, std::string label) override;
    Ticket all_gather(Range<CudaSpace> from, Range<CudaSpace> to, std::string label) override;
    Ticket broadcast(Range<CudaSpace> range, int root, std::string label) override;
    Ticket send(Range<CudaSpace> range, int to, std::string label);
    Ticket recv(Range<CudaSpace> range, int from, std::string label);
    Ticket barrier(std::string label);
    void finish() override;
    void finish(Ticket through) override;
    std::vector<Timing> take_timings() override;

    // Works as Communicator::split. A negative colour joins no communicator and gets null.
    std::unique_ptr<NcclCommunicator> split(int colour);
    std::unique_ptr<Collectives<CudaSpace>> group(int colour) override;
    std::unique_ptr<Collectives<CudaSpace>> lone_group() override;

    // Lets NCCL reach the memory from other GPUs and the network without a copy if it can.
    void register_memory(Range<CudaSpace> range) override;

    void give_up() override;
    // Changes the time limit of the operations to come.
    void set_timeout(int timeout_ms) { session_->set_timeout(timeout_ms); }
    Activity activity() const override { return session_->activity(); }
    // Ends all waits; later operations throw `reason`. Any thread may call it.
    void abort(std::exception_ptr reason) { session_->abort(std::move(reason)); }

private:
    struct Running {
        std::string label;
        std::int64_t begin, end;  // marks of the context's clock
    };

    // Makes a part of `whole`.
    NcclCommunicator(const NcclCommunicator& whole, std::unique_ptr<NcclSession> session);
    Ticket run(const char* what, std::string label,
               const std::function<ncclResult_t(ncclComm_t, cudaStream_t)>& operation);

    device::CudaContext& context_;
    int unwinding_ = std::uncaught_exceptions();  // number of exceptions at construction
    int timeout_ms_;
    // It outlives the session because freeing it waits for operations, which may have to be
    // aborted.
    device::Buffer<float, CudaSpace> barrier_{1};
    std::shared_ptr<NcclLauncher> launcher_;  // shared with what split() makes
    std::unique_ptr<NcclSession> session_;
    std::vector<void*> registered_;
    std::uint64_t waited_ = 0;                   // the compute stream waits for this ticket
    std::deque<std::int64_t> ends_;              // marks of the operations after it
    std::vector<Running> running_;               // since the last finish()
    std::deque<std::vector<Running>> finished_;  // not yet returned by take_timings()
};

}  // namespace lockstep::comm
