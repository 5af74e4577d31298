// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instructions/memory.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"

// These kernels process the elements of flat buffers. Such a kernel is a struct with its operands
// and these members. One thread of each block calls `prepare()`; its result says whether to `skip`
// everything. `read<width>(i, prepared)` returns what the kernel needs of `width` elements from i
// on. `write<width>(i, what was read, prepared)` writes the results. `vectors` is how many vectors
// a thread reads before it writes one: buffers may be the same, so the compiler does not move reads
// before writes. `resident` is how many blocks run on a multiprocessor at once; they go on until
// the work is done, so that prepare() costs little.
namespace lockstep::kernels::cuda {

constexpr int flat_threads = 256;
// Consecutive threads have consecutive groups of four elements, so a warp accesses whole sectors of
// 32 bytes, in fp32 (16 bytes per thread) and in 16 bits (8 bytes).
constexpr int flat_width = 4;

// Processes this thread's vectors from element i on.
template <int width, int vectors, class Body, class Prepared>
__device__ __forceinline__ void run_flat(const Body& body, std::int64_t i, const Prepared& p) {
    decltype(body.template read<width>(i, p)) read[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v)
        read[v] = body.template read<width>(i + v * (flat_threads * width), p);
#pragma unroll
    for (int v = 0; v < vectors; ++v)
        body.template write<width>(i + v * (flat_threads * width), read[v], p);
}

template <int width, class Body>
__global__ void __launch_bounds__(flat_threads, Body::resident)
    flat_kernel(Body body, std::int64_t size) {
    using Prepared = decltype(body.prepare());
    auto& shared = shared_memory<Prepared>();
    if (threadIdx.x == 0) shared = body.prepare();
    __syncthreads();
    const Prepared prepared = shared;
    if (prepared.skip) return;
    constexpr std::int64_t each = flat_threads * width, tile = each * Body::vectors;
    const std::int64_t step = gridDim.x * tile, vectors_end = size / width * width;
    std::int64_t i = blockIdx.x * tile + threadIdx.x * width;
    for (; i + (tile - each) < vectors_end; i += step)
        run_flat<width, Body::vectors>(body, i, prepared);
    if constexpr (Body::vectors > 1)
#pragma unroll 1
        for (; i < vectors_end; i += each) run_flat<width, 1>(body, i, prepared);
    if constexpr (width > 1)
        if (blockIdx.x == 0 && threadIdx.x < size % width)
            run_flat<1, 1>(body, vectors_end + threadIdx.x, prepared);
}

// Runs body over `count` elements. `pointers` are all buffers that body touches, null if unused.
template <class Body, class... Pointers>
void for_each_element(device::CudaContext& ctx, const Body& body, std::size_t count,
                      const Pointers*... pointers) {
    const auto size = static_cast<std::int64_t>(count);
    const bool vectors =
        ((reinterpret_cast<std::uintptr_t>(pointers) % (flat_width * sizeof(Pointers)) == 0) &&
         ...);
    const int width = vectors ? flat_width : 1;
    const unsigned blocks = resident_blocks(
        ctx, size, std::int64_t{flat_threads} * width * Body::vectors, Body::resident);
    launch(ctx, vectors ? flat_kernel<flat_width, Body> : flat_kernel<1, Body>,
           {blocks, flat_threads}, body, size);
}

}  // namespace lockstep::kernels::cuda
