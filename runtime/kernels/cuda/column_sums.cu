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

__global__ void __launch_bounds__(warps* warp_size)
    add_parts_kernel(CudaMatrix<const float> parts, float* totals) {
    auto& sums = shared_memory<Sums>();
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const std::int64_t column = std::int64_t{blockIdx.x} * warp_size + lane;
    float sum = 0;
    if (column < parts.cols) {
#pragma unroll 4
        for (std::int64_t i = warp; i < parts.rows; i += warps)
            sum += parts.data[i * parts.stride + column];
    }
    sums.of[warp][lane] = sum;
    __syncthreads();
    if (warp != 0 || column >= parts.cols) return;
    float total = 0;
    for (int i = 0; i < warps; ++i) total += sums.of[i][lane];
    totals[column] += total;
}

}  // namespace

void add_parts_by_column(device::CudaContext& ctx, CudaMatrix<const float> parts,
                         CudaView<float> totals) {
    require(static_cast<std::int64_t>(totals.size()) == parts.cols, "column sums: sizes differ");
    launch(ctx, add_parts_kernel, {blocks_for(parts.cols, warp_size), warps * warp_size}, parts,
           totals.data());
}

}  // namespace lockstep::kernels::cuda
