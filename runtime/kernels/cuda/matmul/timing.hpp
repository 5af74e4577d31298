// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cuda/cuda_check.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::kernels::cuda {

// Returns the milliseconds that five calls of queue() take on the context's stream. A call before
// them loads the kernels and takes their memory. The host waits for all of them.
template <class Queue>
float milliseconds_of(device::CudaContext& ctx, const Queue& queue) {
    constexpr int timed_runs = 5;
    const device::Event begin = device::make_event(device::Timing::on);
    const device::Event end = device::make_event(device::Timing::on);
    queue();
    device::check(cudaEventRecord(begin.raw(), ctx.stream()), "cudaEventRecord");
    for (int i = 0; i < timed_runs; ++i) queue();
    device::check(cudaEventRecord(end.raw(), ctx.stream()), "cudaEventRecord");
    device::check(cudaEventSynchronize(end.raw()), "cudaEventSynchronize");
    float milliseconds = 0;
    device::check(cudaEventElapsedTime(&milliseconds, begin.raw(), end.raw()),
                  "cudaEventElapsedTime");
    return milliseconds;
}

}  // namespace lockstep::kernels::cuda
