// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/primitives/dropout_mask.hpp"
#include "runtime/kernels/cuda/primitives/elementwise.hpp"
#include "runtime/kernels/cuda/primitives/row_warps.hpp"
#include "runtime/kernels/norm.hpp"

// These are the parts of the norms' backward: its shared memory, and the work of a warp and
// of a block on rows.
namespace lockstep::kernels::cuda {

// A block processes as many rows at a time as it has warps. Each warp computes one row; then the
// threads add the rows to the sums column by column. Thus a block keeps only one row of each sum in
// shared memory.
template <class T>
struct NormBackwardBody {
    Mask mask;
    CudaMatrix<const T> dy, d_sum, sum;  // d_sum and d_branch may be empty
    const float *mean, *rstd;
    const T* gamma;
    CudaMatrix<T> dx, d_branch;
    // [blocks, sums * cols]: dgamma, dbeta, and dbias if it is wanted. The rms norm writes no
    // dbeta.
    float* parts;
    std::int64_t block_rows;
    int sums;  // 2 or 3

    __device__ __forceinline__ bool with_bias() const { return sums == 3; }
};

// A block's shared memory: its sums, then for each warp the rows of dy, of sum and, if dbias is
// wanted, of the branch's gradient. There are as many rows per warp as sums.
template <class T>
struct BlockMemory {
    float* sums;
    T* rows;
    std::int64_t sum_stride, row_stride, warp_stride;
};
template <class T>
struct RowMemory {
    T *dy, *sum, *d_bias;
};

template <class T>
std::size_t sums_bytes(const NormBackwardBody<T>& b) {
    return static_cast<std::size_t>(b.sums) * row_bytes<float>(b.sum.cols);
}
template <class T>
std::size_t warp_bytes(const NormBackwardBody<T>& b) {
    return static_cast<std::size_t>(b.sums) * row_bytes<T>(b.sum.cols);
}
template <class T>
__device__ __forceinline__ BlockMemory<T> block_memory(const NormBackwardBody<T>& b) {
    constexpr std::int64_t width = vector_width<T>;
    const std::int64_t floats = (b.sum.cols + 3) / 4 * 4;
    const std::int64_t elements = (b.sum.cols + width - 1) / width * width;
    auto* sums = reinterpret_cast<float*>(dynamic_shared_memory<char>());
    return {sums, reinterpret_cast<T*>(sums + b.sums * floats), floats, elements,
            b.sums * elements};
}
template <class T>
__device__ __forceinline__ RowMemory<T> row_memory(const BlockMemory<T>& memory, unsigned warp) {
    T* rows = memory.rows + warp * memory.warp_stride;
    return {rows, rows + memory.row_stride, rows + 2 * memory.row_stride};
}

// Returns a row's mean, which the rms norm does not use.
template <NormKind kind, class T>
__device__ __forceinline__ float mean_of(const NormBackwardBody<T>& b, std::int64_t row) {
    if constexpr (kind == NormKind::rms)
        return 0.0f;
    else
        return b.mean[row];
}

struct NormTotals {
    float g, gh;
};

// Keeps the row in shared memory, and returns the sums of g = dy gamma and of g h with
// h = (sum - mean) rstd.
template <int width, class T>
__device__ __forceinline__ NormTotals first_pass(const NormBackwardBody<T>& b, std::int64_t row,
                                                 float mean, float rstd,
                                                 const RowMemory<T>& memory) {
    constexpr int ahead = 3, step = warp_size * width;
    const std::int64_t cols = b.sum.cols;
    NormTotals totals{0, 0};
    for (std::int64_t first = threadIdx.x % warp_size * width; first < cols;
         first += ahead * step) {
        Packed<width, T> packed_dy[ahead], packed_sum[ahead];
#pragma unroll
        for (int v = 0; v < ahead; ++v) {
            const std::int64_t j = first + v * step;
            if (j < cols) load(at(b.dy, {row, j}), packed_dy[v]);
            if (j < cols) load(at(b.sum, {row, j}), packed_sum[v]);
        }
#pragma unroll
        for (int v = 0; v < ahead; ++v) {
            const std::int64_t j = first + v * step;
            if (j >= cols) break;
            float dy[width], sum[width], gamma[width];
            unpack(packed_dy[v], dy);
            unpack(packed_sum[v], sum);
            load(b.gamma + j, gamma);
            store(memory.dy + j, dy);
            store(memory.sum + j, sum);
#pragma unroll
            for (int k = 0; k < width; ++k) {
                const float h = (sum[k] - mean) * rstd, g = dy[k] * gamma[k];
                totals.g += g;
                totals.gh += g * h;
            }
        }
    }
    return {warp_reduce<Sum>(totals.g), warp_reduce<Sum>(totals.gh)};
}

// Computes d(sum) = rstd (g - mean(g) - h mean(g h)). A lane reads several vectors of d_sum before
// it writes one of dx, which may be the same matrix.
template <int width, Masking masking, class T>
__device__ __forceinline__ void second_pass(const NormBackwardBody<T>& b, std::int64_t row,
                                            float mean, float rstd, NormTotals means,
                                            const RowMemory<T>& memory) {
    constexpr int ahead = 3, step = warp_size * width;
    const MaskedToken token = masked_token<masking>(b.mask, row);
    const std::int64_t cols = b.sum.cols;
    for (std::int64_t first = threadIdx.x % warp_size * width; first < cols;
         first += ahead * step) {
        Packed<width, T> packed[ahead];
#pragma unroll
        for (int v = 0; v < ahead; ++v)
            if (first + v * step < cols && b.d_sum.data != nullptr)
                load(at(b.d_sum, {row, first + v * step}), packed[v]);
#pragma unroll
        for (int v = 0; v < ahead; ++v) {
            const std::int64_t j = first + v * step;
            if (j >= cols) break;
            float dy[width], sum[width], gamma[width], d_sum[width] = {};
            load(memory.dy + j, dy);
            load(memory.sum + j, sum);
            load(b.gamma + j, gamma);
            if (b.d_sum.data != nullptr) unpack(packed[v], d_sum);
#pragma unroll
            for (int k = 0; k < width; ++k) {
                const float h = (sum[k] - mean) * rstd;
                const float dx = rstd * (dy[k] * gamma[k] - means.g - h * means.gh) + d_sum[k];
                dy[k] = widen(narrow<T>(dx));
            }
            store(at(b.dx, {row, j}), dy);
            if (b.d_branch.data != nullptr) {
                apply_mask<masking>(b.mask, token, j, dy);
                store(at(b.d_branch, {row, j}), dy);
            }
            if (b.with_bias()) store(memory.d_bias + j, dy);
        }
    }
}

// Adds `count` rows from `first` on, one per warp, to the sums.
template <int width, NormKind kind, class T>
__device__ __forceinline__ void add_rows(const NormBackwardBody<T>& b, std::int64_t first,
                                         unsigned count, const BlockMemory<T>& memory) {
    float *to_dgamma = memory.sums, *to_dbeta = to_dgamma + memory.sum_stride,
          *to_dbias = to_dbeta + memory.sum_stride;
    for (std::int64_t j = threadIdx.x * width; j < b.sum.cols; j += blockDim.x * width) {
        float dgamma[width], dbeta[width], dbias[width] = {};
        load(to_dgamma + j, dgamma);
        load(to_dbeta + j, dbeta);
        if (b.with_bias()) load(to_dbias + j, dbias);
        for (unsigned i = 0; i < count; ++i) {
            const RowMemory<T> row = row_memory(memory, i);
            const float mean = mean_of<kind>(b, first + i), rstd = b.rstd[first + i];
            float dy[width], sum[width], d_bias[width] = {};
            load(row.dy + j, dy);
            load(row.sum + j, sum);
            if (b.with_bias()) load(row.d_bias + j, d_bias);
#pragma unroll
            for (int k = 0; k < width; ++k) {
                dgamma[k] += dy[k] * ((sum[k] - mean) * rstd);
                dbeta[k] += dy[k];
                dbias[k] += d_bias[k];
            }
        }
        store(to_dgamma + j, dgamma);
        store(to_dbeta + j, dbeta);
        if (b.with_bias()) store(to_dbias + j, dbias);
    }
}

}  // namespace lockstep::kernels::cuda
