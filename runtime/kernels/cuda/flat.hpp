// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instructions/memory.hpp"
#include "runtime/kernels/cuda/launch.hpp"
#include "runtime/kernels/cuda/vector.hpp"

// Kernels over the elements of flat buffers. Such a kernel is a struct of what it needs, with
// `prepare()`, called by one thread of each block, and `run<width>(i, prepared)` for `width`
// elements from i on. Blocks go on until the work is done, so that what prepare() computes costs
// little.
namespace lockstep::kernels::cuda {

constexpr int flat_threads = 256;
constexpr int flat_resident_blocks = 8;

template <int width, class Body>
__global__ void __launch_bounds__(flat_threads) flat_kernel(Body body, std::int64_t size) {
    using Prepared = decltype(body.prepare());
    auto& shared = shared_memory<Prepared>();
    if (threadIdx.x == 0) shared = body.prepare();
    __syncthreads();
    const Prepared prepared = shared;
    const std::int64_t thread = std::int64_t{blockIdx.x} * flat_threads + threadIdx.x;
    const std::int64_t step = std::int64_t{gridDim.x} * flat_threads, vectors = size / width;
    for (std::int64_t i = thread; i < vectors; i += step)
        body.template run<width>(i * width, prepared);
    if constexpr (width > 1)
        if (thread < size % width) body.template run<1>(vectors * width + thread, prepared);
}

// T is the narrowest type that body touches; `pointers` are all that it touches, null where unused.
template <class T, class Body, class... Pointers>
void for_each_element(device::CudaContext& ctx, const Body& body, std::size_t count,
                      const Pointers*... pointers) {
    constexpr int width = vector_width<T>;
    const auto size = static_cast<std::int64_t>(count);
    const bool vectors = (by_vectors(pointers, width, width) && ...);
    const unsigned blocks = resident_blocks(
        ctx, size, std::int64_t{flat_threads} * (vectors ? width : 1), flat_resident_blocks);
    launch(ctx, vectors ? flat_kernel<width, Body> : flat_kernel<1, Body>, {blocks, flat_threads},
           body, size);
}

}  // namespace lockstep::kernels::cuda
