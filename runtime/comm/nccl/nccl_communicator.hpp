// SPDX-License-Identifier: Apache-2.0
#pragma once

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

// Ranks of one GPU each. Operations run on the context's communication stream: each starts after
// what its compute stream was given before, and finish() makes that stream wait, and the host only
// until NCCL has accepted them. Two communicators of a context, as split() makes them, have
// operations by turns, with a finish() in between.
// When a rank fails or hangs, what waits is aborted, and take_timings() or the next operation
// throws kind peer; what the GPU computes until then is worthless.
class NcclCommunicator final : public Collectives<CudaSpace> {
public:
    // Collective over `host`, which brings the id of rank 0 to all; waits. The context outlives the
    // communicator.
    NcclCommunicator(device::CudaContext& context, Communicator& host, int timeout_ms);
    ~NcclCommunicator() override;

    int rank() const noexcept override { return session_->rank(); }
    int size() const noexcept override { return session_->size(); }

    void all_reduce(Range<CudaSpace> range, ReduceOp reduction, std::string label) override;
    void reduce_scatter(Range<CudaSpace> range, ReduceOp reduction, std::string label) override;
    void all_gather(Range<CudaSpace> from, Range<CudaSpace> to, std::string label) override;
    void broadcast(Range<CudaSpace> range, int root, std::string label) override;
    void send(Range<CudaSpace> range, int to, std::string label);
    void recv(Range<CudaSpace> range, int from, std::string label);
    void barrier(std::string label);
    void finish() override;
    std::vector<Timing> take_timings() override;

    // As Communicator::split; a negative colour is in none and gets null.
    std::unique_ptr<NcclCommunicator> split(int colour);

    // From other GPUs and the network without a copy, where NCCL can.
    void register_memory(Range<CudaSpace> range) override;

    void give_up() override;
    Activity activity() const override { return session_->activity(); }
    // From any thread: whatever waits goes on; later operations throw `reason`.
    void abort(std::exception_ptr reason) { session_->abort(std::move(reason)); }

private:
    struct Running {
        std::string label;
        std::int64_t begin, end;  // marks of the context's clock
    };

    NcclCommunicator(device::CudaContext& context, std::unique_ptr<NcclSession> session,
                     int timeout_ms);
    void run(const char* what, std::string label,
             const std::function<ncclResult_t(ncclComm_t, cudaStream_t)>& operation);

    device::CudaContext& context_;
    int unwinding_ = std::uncaught_exceptions();  // at birth
    int timeout_ms_;
    // Outlives the session: freeing it waits for operations, which may have to be aborted.
    device::Buffer<float, CudaSpace> barrier_{1};
    std::unique_ptr<NcclSession> session_;
    std::vector<void*> registered_;
    std::vector<Running> running_;               // since the last finish()
    std::deque<std::vector<Running>> finished_;  // not asked about
};

}  // namespace lockstep::comm
