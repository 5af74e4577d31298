// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_host_side.hpp"

#include "runtime/device/cuda/cuda_check.hpp"

namespace lockstep::device {

HostSide<CudaContext>::HostSide(CudaContext& gpu)
    : CpuContext(gpu.cached<HostThreads>().count), gpu_(gpu) {
    for (auto* events : {&fetched_, &sent_})
        for (Event& event : *events) event = make_event();
}

void HostSide<CudaContext>::copy(const void* from, void* to, std::size_t bytes, cudaStream_t stream,
                                 const Event& done) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
    check(cudaEventRecord(done.raw(), stream), "cudaEventRecord");
}

void HostSide<CudaContext>::wait(const Event& done) {
    check(cudaEventSynchronize(done.raw()), "cudaEventSynchronize");
}

}  // namespace lockstep::device
