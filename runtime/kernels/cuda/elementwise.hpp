// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/index.hpp"
#include "runtime/kernels/cuda/launch.hpp"
#include "runtime/kernels/cuda/vector.hpp"

// Kernels that write each element from the elements at the same place. Such a kernel is a struct of
// what it needs, with a function `run<width>(Cell)` for `width` columns from a cell on.
namespace lockstep::kernels::cuda {

constexpr int elementwise_threads = 256;

template <int width, class Body>
__global__ void __launch_bounds__(elementwise_threads)
    elementwise_kernel(Body body, std::int64_t rows, std::int64_t cols) {
    const std::int64_t i = std::int64_t{blockIdx.x} * elementwise_threads + threadIdx.x;
    if (i < vector_cells(rows, cols, width)) body.template run<width>(vector_cell(i, cols, width));
}

// Runs body over [rows, cols], by vectors of T where all matrices that it touches allow it.
template <class T, class Body, class... Matrices>
void elementwise(device::CudaContext& ctx, const Body& body, CudaMatrix<T> to,
                 const Matrices&... others) {
    constexpr int width = vector_width<T>;
    const bool vectors = by_vectors(to) && (by_vectors(others) && ...);
    const std::int64_t cells = vector_cells(to.rows, to.cols, vectors ? width : 1);
    launch(ctx, vectors ? elementwise_kernel<width, Body> : elementwise_kernel<1, Body>,
           {blocks_for(cells, elementwise_threads), elementwise_threads}, body, to.rows, to.cols);
}

template <class T>
__device__ __forceinline__ T* at(const CudaMatrix<T>& matrix, Cell cell) {
    return matrix.data + cell.row * matrix.stride + cell.col;
}

}  // namespace lockstep::kernels::cuda
