// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_cost.hpp"

#include "bench/cuda/gpu_seconds.hpp"
#include "bench/cuda/kernel_table.hpp"
#include "runtime/device/cuda/cuda_check.hpp"
#include "runtime/kernels/cuda/matmul/product.hpp"
#include "runtime/kernels/linear.hpp"

namespace lockstep::bench {

namespace {

// Multiplies random numbers, since a GPU multiplies zeros faster.
template <class T>
double rate(device::CudaContext& ctx) {
    constexpr std::int64_t n = 8192;
    const auto x = numbers<T>(ctx, n * n), w = numbers<T>(ctx, n * n);
    const device::Buffer<T, CudaSpace> y(n * n);
    const double seconds = gpu_seconds(ctx, [&] {
        kernels::linear_forward<T>(ctx, matrix(x, n, n), matrix(w, n, n), {}, matrix(y, n, n));
    });
    return 2.0 * n * n * n / seconds;
}

}  // namespace

double gpu_product_ceiling(int gpu, train::Precision precision) {
    device::CudaContext ctx(gpu);
    ctx.cached<kernels::cuda::ProductSettings>().autotune = true;
    switch (precision) {
        case train::Precision::bf16:
            return rate<bf16>(ctx);
        case train::Precision::fp16:
            return rate<fp16>(ctx);
        case train::Precision::fp32:
            break;
    }
    return rate<float>(ctx);
}

std::int64_t gpu_bytes_in_use(int gpu) {
    const device::CudaContext current(gpu);
    std::size_t free = 0, total = 0;
    device::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return static_cast<std::int64_t>(total - free);
}

}  // namespace lockstep::bench
