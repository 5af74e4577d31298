// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"
#include "runtime/kernels/into.hpp"

// These kernels sum flat buffers in one launch: each block sums a part of a fixed size, and the
// block that finishes last adds the parts' sums. The order depends only on the size, so the value
// is the same on every GPU.
namespace lockstep::kernels::cuda {

constexpr int sum_threads = 256;
constexpr std::int64_t sum_block_elements = 16384;

// Counts the finished blocks of a sum. The count is 0 between launches.
struct FinishedBlocks {
    device::Buffer<unsigned, CudaSpace> count{1};
};
struct IsLast {
    bool value;
};

// Returns true to the last block of the launch that calls it. That block then sees everything that
// the others wrote before their calls.
__device__ __forceinline__ bool last_to_finish(unsigned* finished) {
    auto& last = shared_memory<IsLast>();
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last.value = atomicAdd(finished, 1u) + 1 == gridDim.x;
        if (last.value) *finished = 0;
        __threadfence();
    }
    __syncthreads();
    return last.value;
}

template <int width, class Function, class T>
__global__ void __launch_bounds__(sum_threads)
    sum_kernel(const T* x, std::int64_t size, typename Function::Value* parts, unsigned* finished,
               typename Function::Value* total, Into into) {
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
    if (!last_to_finish(finished)) return;
    sum = 0;
#pragma unroll 8
    for (unsigned i = threadIdx.x; i < gridDim.x; i += sum_threads) sum += parts[i];
    sum = block_reduce<Sum>(sum);
    if (threadIdx.x == 0) *total = into == Into::add ? *total + sum : sum;
}

// Returns memory for the sum of each block's part.
template <class Value>
CudaView<Value> sum_parts(device::CudaContext& ctx, std::size_t elements) {
    return ctx.scratch<Value>(blocks_for(static_cast<std::int64_t>(elements), sum_block_elements));
}

// Computes *total = or += the sum of Function{}(x[i]), which are Function::Value.
template <class Function, class T>
void sum_to(device::CudaContext& ctx, CudaView<const T> x, typename Function::Value* total,
            Into into = Into::add) {
    using Value = typename Function::Value;
    const auto size = static_cast<std::int64_t>(x.size());
    const auto parts = sum_parts<Value>(ctx, x.size());
    const auto blocks = static_cast<unsigned>(parts.size());
    constexpr int width = vector_width<T>;
    launch(ctx,
           by_vectors(x.data(), width, width) ? sum_kernel<width, Function, T>
                                              : sum_kernel<1, Function, T>,
           {blocks, sum_threads}, x.data(), size, parts.data(),
           ctx.cached<FinishedBlocks>().count.view().data(), total, into);
}

struct Square {
    using Value = double;
    __device__ __forceinline__ double operator()(float x) const { return double{x} * double{x}; }
};

}  // namespace lockstep::kernels::cuda
