// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/gpu_seconds.hpp"

#include "runtime/device/cuda/cuda_check.hpp"

namespace lockstep::bench {

namespace {

constexpr int warm_up_runs = 3, timed_runs = 20;

}  // namespace

double gpu_seconds(device::CudaContext& ctx, const std::function<void()>& work) {
    const device::Event begin = device::make_event(device::Timing::on);
    const device::Event end = device::make_event(device::Timing::on);
    for (int i = 0; i < warm_up_runs; ++i) work();
    device::check(cudaEventRecord(begin.raw(), ctx.stream()), "cudaEventRecord");
    for (int i = 0; i < timed_runs; ++i) work();
    device::check(cudaEventRecord(end.raw(), ctx.stream()), "cudaEventRecord");
    device::check(cudaEventSynchronize(end.raw()), "cudaEventSynchronize");
    float milliseconds = 0;
    device::check(cudaEventElapsedTime(&milliseconds, begin.raw(), end.raw()),
                  "cudaEventElapsedTime");
    return double{milliseconds} * 1e-3 / timed_runs;
}

}  // namespace lockstep::bench
