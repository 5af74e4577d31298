// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"
#include "runtime/kernels/embedding.hpp"

// The offsets tell the rows of a position, so nothing has to be sorted. A block has one position
// and 32 vectors of columns. Each of its 8 warps sums, in order, the rows of every eighth group of
// 32 sequences.
namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int warps = 8, threads = warps * warp_size, ahead = 4;

template <class T>
struct Backward {
    const std::int32_t* offsets;
    int sequences;
    CudaMatrix<const T> dy;
    CudaMatrix<float> d_table;
    Into into;
};

template <int width>
struct WarpSums {
    float of[warps][warp_size][width];
};

// Adds the rows at `position` of those of 32 sequences that are long enough. Each lane knows where
// its sequence begins. Several loads are in flight.
template <int width, class T>
__device__ __forceinline__ void add_rows(const Backward<T>& b, unsigned long_enough,
                                         std::int32_t begin, std::int64_t position,
                                         std::int64_t column, float (&sum)[width]) {
    while (long_enough != 0) {  // the same for the whole warp
        Packed<width, T> rows[ahead];
        bool there[ahead];
#pragma unroll
        for (int i = 0; i < ahead; ++i) {
            there[i] = long_enough != 0;
            const int lane = there[i] ? __ffs(static_cast<int>(long_enough)) - 1 : 0;
            long_enough &= long_enough - 1;
            const std::int64_t row = __shfl_sync(whole_warp, begin, lane) + position;
            if (there[i] && column < b.dy.cols) load(at(b.dy, {row, column}), rows[i]);
        }
#pragma unroll
        for (int i = 0; i < ahead; ++i) {
            if (!there[i] || column >= b.dy.cols) continue;
            float values[width];
            unpack(rows[i], values);
#pragma unroll
            for (int j = 0; j < width; ++j) sum[j] += values[j];
        }
    }
}

template <int width, class T>
__global__ void __launch_bounds__(threads) position_backward_kernel(Backward<T> b) {
    auto& sums = shared_memory<WarpSums<width>>();
    const int warp = static_cast<int>(threadIdx.x) / warp_size,
              lane = static_cast<int>(threadIdx.x) % warp_size;
    const std::int64_t position = blockIdx.x;
    const std::int64_t column = (std::int64_t{blockIdx.y} * warp_size + lane) * width;
    float sum[width] = {};
    for (int first = warp * warp_size; first < b.sequences; first += threads) {
        const int s = first + lane;
        const std::int32_t begin = s < b.sequences ? b.offsets[s] : 0;
        const bool has = s < b.sequences && position < b.offsets[s + 1] - begin;
        add_rows(b, __ballot_sync(whole_warp, has), begin, position, column, sum);
    }
#pragma unroll
    for (int j = 0; j < width; ++j) sums.of[warp][lane][j] = sum[j];
    __syncthreads();
    if (warp != 0 || column >= b.dy.cols) return;
    float* const to = at(b.d_table, {position, column});
    float total[width] = {};
    if (b.into == Into::add) load(to, total);
    for (int w = 0; w < warps; ++w)
#pragma unroll
        for (int j = 0; j < width; ++j) total[j] += sums.of[w][lane][j];
    store(to, total);
}

template <int width, class T>
void run(CudaContext& ctx, const Backward<T>& b) {
    launch(ctx, position_backward_kernel<width, T>,
           {{blocks_for(b.d_table.rows, 1), blocks_for(b.dy.cols, warp_size * width)}, threads}, b);
}

}  // namespace

template <class T>
void position_backward(CudaContext& ctx, CudaView<const std::int32_t> offsets,
                       CudaMatrix<const T> dy, CudaMatrix<float> d_table, Into into) {
    require(!offsets.empty() && d_table.cols == dy.cols, "position gradient: shapes differ");
    const Backward<T> b{offsets.data(), static_cast<int>(offsets.size()) - 1, dy, d_table, into};
    if (by_vectors(dy) && by_vectors(d_table))
        run<vector_width<T>>(ctx, b);
    else
        run<1>(ctx, b);
}

template void position_backward(CudaContext&, CudaView<const std::int32_t>, CudaMatrix<const float>,
                                CudaMatrix<float>, Into);
template void position_backward(CudaContext&, CudaView<const std::int32_t>, CudaMatrix<const bf16>,
                                CudaMatrix<float>, Into);
template void position_backward(CudaContext&, CudaView<const std::int32_t>, CudaMatrix<const fp16>,
                                CudaMatrix<float>, Into);

}  // namespace lockstep::kernels
