// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/column_sums.hpp"
#include "runtime/kernels/cuda/reduction.hpp"

namespace lockstep::kernels::cuda {

namespace {

// A block has 32 columns: each of its warps sums every 16th part, then one adds the warps' sums.
constexpr int warps = 16;
struct Sums {
    float of[warps][warp_size];
};
struct Totals {
    float* of[most_totals];
};

__global__ void __launch_bounds__(warps* warp_size)
    sum_parts_kernel(CudaMatrix<const float> parts, std::int64_t cols, Totals totals, Into into) {
    auto& sums = shared_memory<Sums>();
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const std::int64_t column = std::int64_t{blockIdx.x} * warp_size + lane;
    float sum = 0;
    if (column < cols) {
        const float* part = parts.data + blockIdx.y * cols + column;
#pragma unroll 4
        for (std::int64_t i = warp; i < parts.rows; i += warps) sum += part[i * parts.stride];
    }
    sums.of[warp][lane] = sum;
    __syncthreads();
    if (warp != 0 || column >= cols) return;
    float total = 0;
    for (int i = 0; i < warps; ++i) total += sums.of[i][lane];
    float* const to = blockIdx.y == 0   ? totals.of[0]
                      : blockIdx.y == 1 ? totals.of[1]
                                        : totals.of[2];
    to[column] = into == Into::overwrite ? total : to[column] + total;
}

}  // namespace

void sum_parts_by_column(device::CudaContext& ctx, CudaMatrix<const float> parts,
                         std::initializer_list<CudaView<float>> totals, Into into) {
    const auto count = static_cast<std::int64_t>(totals.size());
    require(count <= most_totals && parts.cols % count == 0, "column sums: sizes differ");
    const std::int64_t cols = parts.cols / count;
    Totals to{};
    float** next = to.of;
    for (const auto& total : totals) {
        require(static_cast<std::int64_t>(total.size()) == cols, "column sums: sizes differ");
        *next++ = total.data();
    }
    launch(ctx, sum_parts_kernel,
           {{blocks_for(cols, warp_size), static_cast<unsigned>(count)}, warps * warp_size}, parts,
           cols, to, into);
}

}  // namespace lockstep::kernels::cuda
