// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"
#include "runtime/kernels/into.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels::cuda {

// Returns memory for parts that sum_parts_by_column() sums right after they are written. The memory
// is kept while sums are deferred (deferred_sums.hpp).
CudaMatrix<float> parts_memory(device::CudaContext& ctx, std::int64_t rows, std::int64_t cols);

// Computes totals[i][j] = or += the sum of column i n + j of parts [.., totals.size() n], in a
// fixed order. While sums are deferred, it is done later.
void sum_parts_by_column(device::CudaContext& ctx, CudaMatrix<const float> parts,
                         std::initializer_list<CudaView<float>> totals, Into into);

constexpr int column_sum_warps = 8;
constexpr int column_sum_blocks = 4;  // resident on a multiprocessor

template <int width>
struct ColumnSums {
    float of[column_sum_warps][warp_size][width];
};

// Adds `rows` rows: every eighth row from `first` on.
template <int width, int rows, class Body>
__device__ __forceinline__ void sum_rows(const Body& body, std::int64_t first, std::int64_t column,
                                         float (&sums)[width]) {
    decltype(body.template read<width>(Cell{})) read[rows];
#pragma unroll
    for (int v = 0; v < rows; ++v)
        read[v] = body.template read<width>({first + v * column_sum_warps, column});
#pragma unroll
    for (int v = 0; v < rows; ++v)
        body.template add<width>({first + v * column_sum_warps, column}, read[v], sums);
}

// Block (x, y) sums rows [y * block_rows, (y + 1) * block_rows) of 32 vectors of columns.
template <int width, class Body>
__global__ void __launch_bounds__(column_sum_warps* warp_size, column_sum_blocks)
    column_sums_kernel(Body body, std::int64_t rows, std::int64_t cols, std::int64_t block_rows,
                       float* parts) {
    auto& sums = shared_memory<ColumnSums<width>>();
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const std::int64_t column = (std::int64_t{blockIdx.x} * warp_size + lane) * width;
    const std::int64_t first = blockIdx.y * block_rows;
    const std::int64_t end = first + block_rows < rows ? first + block_rows : rows;
    float sum[width] = {};
    if (column < cols) {
        constexpr std::int64_t at_once = column_sum_warps * Body::vectors;
        std::int64_t i = first + warp;
#pragma unroll 1
        for (; i + at_once - column_sum_warps < end; i += at_once)
            sum_rows<width, Body::vectors>(body, i, column, sum);
#pragma unroll 1
        for (; i < end; i += column_sum_warps) sum_rows<width, 1>(body, i, column, sum);
    }
#pragma unroll
    for (int j = 0; j < width; ++j) sums.of[warp][lane][j] = sum[j];
    __syncthreads();
    if (warp != 0 || column >= cols) return;
#pragma unroll
    for (int j = 0; j < width; ++j) {
        float total = 0;
        for (int i = 0; i < column_sum_warps; ++i) total += sums.of[i][lane][j];
        parts[blockIdx.y * cols + column + j] = total;
    }
}

template <int width, class Body>
void run_column_sums(device::CudaContext& ctx, const Body& body, std::int64_t rows,
                     std::int64_t cols, CudaView<float> totals, Into into) {
    // There are enough blocks for every multiprocessor, and each has enough rows to be worth a
    // partial sum.
    constexpr std::int64_t smallest_block = 32;
    const unsigned strips = blocks_for(cols, std::int64_t{warp_size} * width);
    const std::int64_t wanted =
        std::max<std::int64_t>(1, ctx.properties().multiprocessors * column_sum_blocks / strips);
    const std::int64_t block_rows = std::max(smallest_block, (rows + wanted - 1) / wanted);
    const unsigned blocks = blocks_for(rows, block_rows);
    const CudaMatrix<float> parts = parts_memory(ctx, blocks, cols);
    launch(ctx, column_sums_kernel<width, Body>, {{strips, blocks}, column_sum_warps * warp_size},
           body, rows, cols, block_rows, parts.data);
    sum_parts_by_column(ctx, parts, {totals}, into);
}

// Computes totals[j] = or += the sum over the rows of the values that body adds for column j, in a
// fixed order. body is as for elementwise(), but has `add<width>(Cell, what was read, float
// (&sums)[width])` instead of `write`; it may write as well. The matrices are read by vectors of T
// if all that body touches allow it.
template <class T, class Body, class... Matrices>
void column_sums(device::CudaContext& ctx, const Body& body, CudaView<float> totals, Into into,
                 CudaMatrix<T> of, const Matrices&... others) {
    require(static_cast<std::int64_t>(totals.size()) == of.cols, "column sums: sizes differ");
    if (of.empty()) {
        if (into == Into::overwrite) fill_zero(ctx, totals);
        return;
    }
    if (by_vectors(of) && (by_vectors(others) && ...))
        run_column_sums<vector_width<T>>(ctx, body, of.rows, of.cols, totals, into);
    else
        run_column_sums<1>(ctx, body, of.rows, of.cols, totals, into);
}

// A body for column_sums() that sums term(x).
template <class Term, class T>
struct TermOf {
    static constexpr int vectors = 4;
    template <int width>
    struct Read {
        float values[width];
    };

    Term term;
    CudaMatrix<const T> x;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        Read<width> r;
        load(at(x, cell), r.values);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void add(Cell, const Read<width>& r, float (&sums)[width]) const {
#pragma unroll
        for (int j = 0; j < width; ++j) sums[j] += term(r.values[j]);
    }
};

}  // namespace lockstep::kernels::cuda
