// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/column_sums.hpp"
#include "runtime/kernels/cuda/dropout_mask.hpp"
#include "runtime/kernels/cuda/elementwise.hpp"
#include "runtime/kernels/cuda/row_warps.hpp"
#include "runtime/kernels/norm.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

template <class T>
struct Backward {
    Mask mask;
    CudaMatrix<const T> dy, d_sum, sum;  // d_sum and d_branch may be empty
    const float *mean, *rstd;
    const T* gamma;
    CudaMatrix<T> dx, d_branch;
    float* parts;  // [blocks, 2 cols]: dgamma and dbeta of each block's rows
    std::int64_t block_rows;
};

// A warp's shared memory: its sums over rows, and the row in hand.
template <class T>
struct WarpMemory {
    float *dgamma, *dbeta;
    T *dy, *sum;
};
template <class T>
std::size_t warp_bytes(std::int64_t cols) {
    return 2 * row_bytes<float>(cols) + 2 * row_bytes<T>(cols);
}
template <class T>
__device__ __forceinline__ WarpMemory<T> warp_memory(std::int64_t cols, unsigned warp) {
    const std::int64_t floats = (cols + 3) / 4 * 4;
    const std::int64_t elements = (cols + vector_width<T> - 1) / vector_width<T> * vector_width<T>;
    const std::int64_t bytes = 2 * (floats * 4 + elements * static_cast<int>(sizeof(T)));
    auto* begin = reinterpret_cast<float*>(dynamic_shared_memory<char>() + warp * bytes);
    auto* rows = reinterpret_cast<T*>(begin + 2 * floats);
    return {begin, begin + floats, rows, rows + elements};
}

struct Totals {
    float g, gh;
};

// Adds the row to dgamma and dbeta, keeps it, and sums g = dy gamma and g h with
// h = (sum - mean) rstd.
template <int width, class T>
__device__ __forceinline__ Totals first_pass(const Backward<T>& b, std::int64_t row, float mean,
                                             float rstd, const WarpMemory<T>& memory) {
    Totals totals{0, 0};
    for_lane_columns<width>(b.sum.cols, [&](std::int64_t j) {
        float dy[width], sum[width], gamma[width], dgamma[width], dbeta[width];
        load(at(b.dy, {row, j}), dy);
        load(at(b.sum, {row, j}), sum);
        load(b.gamma + j, gamma);
        load(memory.dgamma + j, dgamma);
        load(memory.dbeta + j, dbeta);
        store(memory.dy + j, dy);
        store(memory.sum + j, sum);
#pragma unroll
        for (int k = 0; k < width; ++k) {
            const float h = (sum[k] - mean) * rstd, g = dy[k] * gamma[k];
            totals.g += g;
            totals.gh += g * h;
            dgamma[k] += dy[k] * h;
            dbeta[k] += dy[k];
        }
        store(memory.dgamma + j, dgamma);
        store(memory.dbeta + j, dbeta);
    });
    return {warp_reduce<Sum>(totals.g), warp_reduce<Sum>(totals.gh)};
}

// d(sum) = rstd (g - mean(g) - h mean(g h)).
template <int width, Masking masking, class T>
__device__ __forceinline__ void second_pass(const Backward<T>& b, std::int64_t row, float mean,
                                            float rstd, Totals means, const WarpMemory<T>& memory) {
    for_lane_columns<width>(b.sum.cols, [&](std::int64_t j) {
        float dy[width], sum[width], gamma[width], d_sum[width] = {};
        load(memory.dy + j, dy);
        load(memory.sum + j, sum);
        load(b.gamma + j, gamma);
        if (b.d_sum.data != nullptr) load(at(b.d_sum, {row, j}), d_sum);
#pragma unroll
        for (int k = 0; k < width; ++k) {
            const float h = (sum[k] - mean) * rstd;
            const float dx = rstd * (dy[k] * gamma[k] - means.g - h * means.gh) + d_sum[k];
            dy[k] = widen(narrow<T>(dx));
        }
        store(at(b.dx, {row, j}), dy);
        if (b.d_branch.data == nullptr) return;
        apply_mask<masking>(b.mask, row, j, dy);
        store(at(b.d_branch, {row, j}), dy);
    });
}

template <int width, Masking masking, class T>
__global__ void __launch_bounds__(most_row_warps* warp_size) norm_backward_kernel(Backward<T> b) {
    const unsigned warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
    const std::int64_t cols = b.sum.cols;
    const WarpMemory<T> memory = warp_memory<T>(cols, warp);
    for_lane_columns<1>(cols, [&](std::int64_t j) { memory.dgamma[j] = memory.dbeta[j] = 0; });
    __syncwarp();
    const std::int64_t first = blockIdx.x * b.block_rows;
    const std::int64_t end = first + b.block_rows < b.sum.rows ? first + b.block_rows : b.sum.rows;
    for (std::int64_t row = first + warp; row < end; row += warps) {
        const float mean = b.mean[row], rstd = b.rstd[row];
        const Totals totals = first_pass<width>(b, row, mean, rstd, memory);
        const auto d = static_cast<float>(cols);
        second_pass<width, masking>(b, row, mean, rstd, {totals.g / d, totals.gh / d}, memory);
    }
    __syncthreads();
    for (std::int64_t j = threadIdx.x; j < cols; j += blockDim.x) {
        float dgamma = 0, dbeta = 0;
        for (unsigned other = 0; other < warps; ++other) {
            const WarpMemory<T> sums = warp_memory<T>(cols, other);
            dgamma += sums.dgamma[j];
            dbeta += sums.dbeta[j];
        }
        float* part = b.parts + blockIdx.x * 2 * cols;
        part[j] = dgamma;
        part[cols + j] = dbeta;
    }
}

template <int width, class T>
void run(CudaContext& ctx, Backward<T> b, CudaView<float> dgamma, CudaView<float> dbeta) {
    const std::int64_t cols = b.sum.cols;
    const std::size_t bytes = warp_bytes<T>(cols);
    const int warps = row_warps(ctx, bytes);
    const std::size_t block_bytes = static_cast<std::size_t>(warps) * bytes;
    // As many blocks as the GPU holds at once, so that there are few partial sums.
    const auto resident = static_cast<std::int64_t>(
        std::clamp<std::size_t>(ctx.properties().most_shared_bytes / block_bytes, 1, 8));
    const std::int64_t most = ctx.properties().multiprocessors * resident;
    b.block_rows = std::max<std::int64_t>((b.sum.rows + most - 1) / most, warps);
    const unsigned blocks = blocks_for(b.sum.rows, b.block_rows);
    b.parts = ctx.scratch<float>(static_cast<std::size_t>(2 * cols) * blocks).data();
    launch(ctx,
           b.mask.state == nullptr ? norm_backward_kernel<width, Masking::off, T>
                                   : norm_backward_kernel<width, Masking::on, T>,
           {blocks, static_cast<unsigned>(warps * warp_size), block_bytes}, b);
    add_parts_by_column(ctx, {b.parts, blocks, cols, 2 * cols}, dgamma);
    add_parts_by_column(ctx, {b.parts + cols, blocks, cols, 2 * cols}, dbeta);
}

}  // namespace

template <class T>
void norm_backward(CudaContext& ctx, const Dropout& site, TokenPlaces<CudaSpace> places,
                   CudaMatrix<const T> dy, CudaMatrix<const T> d_sum, CudaMatrix<const T> sum,
                   CudaView<const float> mean, CudaView<const float> rstd, CudaView<const T> gamma,
                   CudaMatrix<T> dx, CudaMatrix<T> d_branch, CudaView<float> dgamma,
                   CudaView<float> dbeta) {
    const auto d = static_cast<std::size_t>(sum.cols);
    require(same_shape(dy, sum) && same_shape(dx, sum) && gamma.size() == d && dgamma.size() == d &&
                dbeta.size() == d,
            "norm backward: shapes differ");
    require((d_sum.empty() || same_shape(d_sum, sum)) &&
                (d_branch.empty() || same_shape(d_branch, sum)),
            "norm backward: the residual's shapes differ");
    if (sum.empty()) return;
    const Mask mask = d_branch.empty() ? Mask{} : mask_of(site, places, sum.rows);
    const Backward<T> b{mask,
                        dy,
                        d_sum.empty() ? CudaMatrix<const T>{} : d_sum,
                        sum,
                        mean.data(),
                        rstd.data(),
                        gamma.data(),
                        dx,
                        d_branch.empty() ? CudaMatrix<T>{} : d_branch,
                        nullptr,
                        0};
    if (by_vectors(dy) && by_vectors(b.d_sum) && by_vectors(sum) && by_vectors(dx) &&
        by_vectors(b.d_branch) && by_vectors(b.gamma, sum.cols, sum.cols))
        run<vector_width<T>>(ctx, b, dgamma, dbeta);
    else
        run<1>(ctx, b, dgamma, dbeta);
}

template void norm_backward(CudaContext&, const Dropout&, TokenPlaces<CudaSpace>,
                            CudaMatrix<const float>, CudaMatrix<const float>,
                            CudaMatrix<const float>, CudaView<const float>, CudaView<const float>,
                            CudaView<const float>, CudaMatrix<float>, CudaMatrix<float>,
                            CudaView<float>, CudaView<float>);
template void norm_backward(CudaContext&, const Dropout&, TokenPlaces<CudaSpace>,
                            CudaMatrix<const bf16>, CudaMatrix<const bf16>, CudaMatrix<const bf16>,
                            CudaView<const float>, CudaView<const float>, CudaView<const bf16>,
                            CudaMatrix<bf16>, CudaMatrix<bf16>, CudaView<float>, CudaView<float>);
template void norm_backward(CudaContext&, const Dropout&, TokenPlaces<CudaSpace>,
                            CudaMatrix<const fp16>, CudaMatrix<const fp16>, CudaMatrix<const fp16>,
                            CudaView<const float>, CudaView<const float>, CudaView<const fp16>,
                            CudaMatrix<fp16>, CudaMatrix<fp16>, CudaView<float>, CudaView<float>);

}  // namespace lockstep::kernels
