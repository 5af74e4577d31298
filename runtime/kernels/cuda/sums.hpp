// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/launch.hpp"
#include "runtime/kernels/cuda/reduction.hpp"
#include "runtime/kernels/cuda/vector.hpp"

// Sums over flat buffers in two stages: blocks of a fixed size, then the blocks' sums. The order
// depends on the size alone, so the value is the same on every GPU.
namespace lockstep::kernels::cuda {

constexpr int sum_threads = 256;
constexpr std::int64_t sum_block_elements = 16384;

template <int width, class Function, class T>
__global__ void __launch_bounds__(sum_threads)
    partial_sums_kernel(const T* x, std::int64_t size, typename Function::Value* parts) {
    using Value = typename Function::Value;
    const std::int64_t first = blockIdx.x * sum_block_elements;
    const std::int64_t end = size < first + sum_block_elements ? size : first + sum_block_elements;
    const std::int64_t vectors_end = first + (end - first) / width * width;
    Value sum = 0;
#pragma unroll 4
    for (std::int64_t i = first + threadIdx.x * width; i < vectors_end; i += sum_threads * width) {
        float values[width];
        load(x + i, values);
#pragma unroll
        for (int j = 0; j < width; ++j) sum += Function{}(values[j]);
    }
    if (vectors_end + threadIdx.x < end) sum += Function{}(widen(x[vectors_end + threadIdx.x]));
    sum = block_reduce<Sum>(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

constexpr int total_threads = 1024;  // one block: what hides the latency of memory is its width

template <class Value>
__global__ void __launch_bounds__(total_threads)
    add_partial_sums_kernel(const Value* parts, std::int64_t count, Value* total) {
    Value sum = 0;
#pragma unroll 8
    for (std::int64_t i = threadIdx.x; i < count; i += total_threads) sum += parts[i];
    sum = block_reduce<Sum>(sum);
    if (threadIdx.x == 0) *total += sum;
}

// *total += the sum of Function{}(x[i]), which are Function::Value.
template <class Function, class T>
void add_sum(device::CudaContext& ctx, CudaView<const T> x, typename Function::Value* total) {
    using Value = typename Function::Value;
    const auto size = static_cast<std::int64_t>(x.size());
    const unsigned blocks = blocks_for(size, sum_block_elements);
    const auto parts = ctx.scratch<Value>(blocks);
    constexpr int width = vector_width<T>;
    launch(ctx,
           by_vectors(x.data(), width, width) ? partial_sums_kernel<width, Function, T>
                                              : partial_sums_kernel<1, Function, T>,
           {blocks, sum_threads}, x.data(), size, parts.data());
    launch(ctx, add_partial_sums_kernel<Value>, {1, total_threads}, parts.data(),
           std::int64_t{blocks}, total);
}

struct Square {
    using Value = double;
    __device__ __forceinline__ double operator()(float x) const { return double{x} * double{x}; }
};

}  // namespace lockstep::kernels::cuda
