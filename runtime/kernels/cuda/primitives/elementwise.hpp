// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/primitives/index.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"

// These kernels compute each element from the elements in the same row and column. Such a kernel is
// a struct with its operands and these members: `read<width>(Cell)` returns what it needs of
// `width` columns from a cell on; `write<width>(Cell, what was read)` writes the results; `vectors`
// is how many vectors a thread reads before it writes one. Matrices may be the same, so the
// compiler does not move reads before writes.
namespace lockstep::kernels::cuda {

constexpr int elementwise_threads = 256;

// Processes this thread's vectors from the block's first on.
template <int width, int vectors, class Body>
__device__ __forceinline__ void run_vectors(const Body& body, Cell first, unsigned more,
                                            std::int64_t cols) {
    Cell cells[vectors];
    decltype(body.template read<width>(Cell{})) read[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
        cells[v] = vector_cell_after(first, more + v * elementwise_threads, cols, width);
        read[v] = body.template read<width>(cells[v]);
    }
#pragma unroll
    for (int v = 0; v < vectors; ++v) body.template write<width>(cells[v], read[v]);
}

template <int width, class Body>
__global__ void __launch_bounds__(elementwise_threads)
    elementwise_kernel(Body body, std::int64_t rows, std::int64_t cols) {
    constexpr unsigned each = elementwise_threads * Body::vectors;
    const std::int64_t begin = std::int64_t{blockIdx.x} * each;
    const std::int64_t left = vector_cells(rows, cols, width) - begin;
    const Cell first = vector_cell(begin, cols, width);
    if (left >= each) return run_vectors<width, Body::vectors>(body, first, threadIdx.x, cols);
#pragma unroll 1
    for (unsigned more = threadIdx.x; more < left; more += elementwise_threads)
        run_vectors<width, 1>(body, first, more, cols);
}

// Runs body over [rows, cols], by vectors of T if all matrices that it touches allow it.
template <class T, class Body, class... Matrices>
void elementwise(device::CudaContext& ctx, const Body& body, CudaMatrix<T> to,
                 const Matrices&... others) {
    constexpr int width = vector_width<T>;
    const bool vectors = by_vectors(to) && (by_vectors(others) && ...);
    const std::int64_t cells = vector_cells(to.rows, to.cols, vectors ? width : 1);
    launch(ctx, vectors ? elementwise_kernel<width, Body> : elementwise_kernel<1, Body>,
           {blocks_for(cells, elementwise_threads * Body::vectors), elementwise_threads}, body,
           to.rows, to.cols);
}

template <class T>
__device__ __forceinline__ T* at(const CudaMatrix<T>& matrix, Cell cell) {
    return matrix.data + cell.row * matrix.stride + cell.col;
}

}  // namespace lockstep::kernels::cuda
