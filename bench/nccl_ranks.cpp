// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "bench/summing_ranks.hpp"
#include "runtime/comm/nccl/nccl_communicator.hpp"

namespace lockstep::bench {

namespace {

struct OnGpu {
    OnGpu(comm::Communicator& host, int device, int timeout_ms)
        : context(device), nccl(context, host, timeout_ms) {}

    // Returns a buffer of `count` elements. New memory is zero.
    CudaView<float> room(std::size_t count) {
        if (buffer.size() < count) buffer = device::Buffer<float, CudaSpace>(count);
        return buffer.view().subview(0, count);
    }

    device::CudaContext context;
    device::Buffer<float, CudaSpace> buffer;
    comm::NcclCommunicator nccl;
};

}  // namespace

SummingRanks nccl_ranks(comm::Communicator& host, const comm::RankInfo& rank_info,
                        launcher::SharedGpu shared, int timeout_ms) {
    const auto visible = static_cast<std::size_t>(device::visible_gpus());
    const auto seat = launcher::assign_gpu(rank_info, visible, shared);
    const auto gpu = std::make_shared<OnGpu>(host, static_cast<int>(seat), timeout_ms);
    const auto sum = [gpu](std::vector<float>& values) {
        const auto there = gpu->room(values.size());
        device::copy(gpu->context, HostView<const float>(view_of(values)), there);
        gpu->nccl.all_reduce(there, comm::ReduceOp::sum, "sum");
        gpu->nccl.finish();
        (void)gpu->nccl.take_timings();
        device::copy(gpu->context, CudaView<const float>(there), view_of(values));
        gpu->context.synchronize();
    };
    // Measures by the GPU's own clock.
    const auto timed_sum = [gpu, &host](std::size_t count) {
        const auto there = gpu->room(count);
        gpu->context.synchronize();
        host.barrier("start");
        host.finish();
        gpu->nccl.all_reduce(there, comm::ReduceOp::sum, "timed");
        gpu->nccl.finish();
        const comm::Timing timing = gpu->nccl.take_timings().front();
        return seconds_between(timing.begin, timing.end);
    };
    return {host.rank(), host.size(), sum, timed_sum};
}

}  // namespace lockstep::bench
