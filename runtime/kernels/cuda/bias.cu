// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/column_sums.hpp"
#include "runtime/kernels/cuda/launch.hpp"
#include "runtime/kernels/cuda/reduction.hpp"
#include "runtime/kernels/cuda/vector.hpp"
#include "runtime/kernels/linear.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int warps = 8;

template <int width>
struct Sums {
    float of[warps][warp_size][width];
};

// Block (x, y) sums rows [y * block_rows, (y + 1) * block_rows) of 32 vectors of columns.
template <int width, class T>
__global__ void __launch_bounds__(warps* warp_size)
    column_sums_kernel(CudaMatrix<const T> x, std::int64_t block_rows, float* parts) {
    auto& sums = shared_memory<Sums<width>>();
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const std::int64_t column = (std::int64_t{blockIdx.x} * warp_size + lane) * width;
    const std::int64_t first = blockIdx.y * block_rows;
    const std::int64_t end = first + block_rows < x.rows ? first + block_rows : x.rows;
    float sum[width] = {};
    if (column < x.cols) {
#pragma unroll 4
        for (std::int64_t i = first + warp; i < end; i += warps) {
            float values[width];
            load(x.data + i * x.stride + column, values);
#pragma unroll
            for (int j = 0; j < width; ++j) sum[j] += values[j];
        }
    }
#pragma unroll
    for (int j = 0; j < width; ++j) sums.of[warp][lane][j] = sum[j];
    __syncthreads();
    if (warp != 0 || column >= x.cols) return;
#pragma unroll
    for (int j = 0; j < width; ++j) {
        float total = 0;
        for (int i = 0; i < warps; ++i) total += sums.of[i][lane][j];
        parts[blockIdx.y * x.cols + column + j] = total;
    }
}

template <int width, class T>
void add_column_sums(CudaContext& ctx, CudaMatrix<const T> x, CudaView<float> totals) {
    // Enough blocks for every multiprocessor, each with rows enough to be worth a partial sum.
    constexpr std::int64_t blocks_each = 8, smallest_block = 32;
    const unsigned strips = blocks_for(x.cols, std::int64_t{warp_size} * width);
    const std::int64_t wanted =
        std::max<std::int64_t>(1, ctx.properties().multiprocessors * blocks_each / strips);
    const std::int64_t block_rows = std::max(smallest_block, (x.rows + wanted - 1) / wanted);
    const unsigned blocks = blocks_for(x.rows, block_rows);
    const auto parts = ctx.scratch<float>(static_cast<std::size_t>(blocks * x.cols));
    launch(ctx, column_sums_kernel<width, T>, {{strips, blocks}, warps * warp_size}, x, block_rows,
           parts.data());
    add_parts_by_column(ctx, {parts.data(), blocks, x.cols}, totals);
}

}  // namespace

template <class T>
void add_bias_backward(CudaContext& ctx, CudaMatrix<const T> dy, CudaView<float> db) {
    require(static_cast<std::int64_t>(db.size()) == dy.cols, "bias gradient: sizes differ");
    if (dy.empty()) return;
    if (by_vectors(dy))
        add_column_sums<vector_width<T>>(ctx, dy, db);
    else
        add_column_sums<1>(ctx, dy, db);
}

template void add_bias_backward(CudaContext&, CudaMatrix<const float>, CudaView<float>);
template void add_bias_backward(CudaContext&, CudaMatrix<const bf16>, CudaView<float>);
template void add_bias_backward(CudaContext&, CudaMatrix<const fp16>, CudaView<float>);

}  // namespace lockstep::kernels
