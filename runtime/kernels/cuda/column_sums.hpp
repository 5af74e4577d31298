// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/launch.hpp"
#include "runtime/kernels/cuda/reduction.hpp"
#include "runtime/kernels/cuda/vector.hpp"

namespace lockstep::kernels::cuda {

// totals[j] += the sum of column j of parts, in a fixed order.
void add_parts_by_column(device::CudaContext& ctx, CudaMatrix<const float> parts,
                         CudaView<float> totals);

constexpr int column_sum_warps = 8;

template <int width>
struct ColumnSums {
    float of[column_sum_warps][warp_size][width];
};

// Block (x, y) sums rows [y * block_rows, (y + 1) * block_rows) of 32 vectors of columns.
template <int width, class Term, class T>
__global__ void __launch_bounds__(column_sum_warps* warp_size)
    column_sums_kernel(CudaMatrix<const T> x, Term term, std::int64_t block_rows, float* parts) {
    auto& sums = shared_memory<ColumnSums<width>>();
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const std::int64_t column = (std::int64_t{blockIdx.x} * warp_size + lane) * width;
    const std::int64_t first = blockIdx.y * block_rows;
    const std::int64_t end = first + block_rows < x.rows ? first + block_rows : x.rows;
    float sum[width] = {};
    if (column < x.cols) {
#pragma unroll 4
        for (std::int64_t i = first + warp; i < end; i += column_sum_warps) {
            float values[width];
            load(x.data + i * x.stride + column, values);
#pragma unroll
            for (int j = 0; j < width; ++j) sum[j] += term(values[j]);
        }
    }
#pragma unroll
    for (int j = 0; j < width; ++j) sums.of[warp][lane][j] = sum[j];
    __syncthreads();
    if (warp != 0 || column >= x.cols) return;
#pragma unroll
    for (int j = 0; j < width; ++j) {
        float total = 0;
        for (int i = 0; i < column_sum_warps; ++i) total += sums.of[i][lane][j];
        parts[blockIdx.y * x.cols + column + j] = total;
    }
}

template <int width, class Term, class T>
void run_column_sums(device::CudaContext& ctx, CudaMatrix<const T> x, const Term& term,
                     CudaView<float> totals) {
    // Enough blocks for every multiprocessor, each with rows enough to be worth a partial sum.
    constexpr std::int64_t blocks_each = 8, smallest_block = 32;
    const unsigned strips = blocks_for(x.cols, std::int64_t{warp_size} * width);
    const std::int64_t wanted =
        std::max<std::int64_t>(1, ctx.properties().multiprocessors * blocks_each / strips);
    const std::int64_t block_rows = std::max(smallest_block, (x.rows + wanted - 1) / wanted);
    const unsigned blocks = blocks_for(x.rows, block_rows);
    const auto parts = ctx.scratch<float>(static_cast<std::size_t>(blocks * x.cols));
    launch(ctx, column_sums_kernel<width, Term, T>,
           {{strips, blocks}, column_sum_warps * warp_size}, x, term, block_rows, parts.data());
    add_parts_by_column(ctx, {parts.data(), blocks, x.cols}, totals);
}

// totals[j] += the sum of term(x) over the rows of column j, in a fixed order.
template <class Term, class T>
void add_column_sums(device::CudaContext& ctx, CudaMatrix<const T> x, const Term& term,
                     CudaView<float> totals) {
    if (x.empty()) return;
    if (by_vectors(x))
        run_column_sums<vector_width<T>>(ctx, x, term, totals);
    else
        run_column_sums<1>(ctx, x, term, totals);
}

}  // namespace lockstep::kernels::cuda
