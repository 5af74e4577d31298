// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instructions/convert.hpp"
#include "instructions/matrix.hpp"
#include "instructions/memory.hpp"
#include "runtime/kernels/cuda/attention/attention_tile.hpp"
#include "runtime/kernels/cuda/primitives/index.hpp"

// These functions compute products of tiles on tensor cores with 4 warps. A warp owns `parts` times
// 16 rows of the result. Their columns lie in registers in groups of 8, in the layout of
// multiply_16_8_16. Scores go from one product into the next without leaving the registers.
namespace lockstep::kernels::cuda {

constexpr int mma_warps = 4, mma_threads = 32 * mma_warps, mma_tile = 16 * mma_warps;

__device__ __forceinline__ int warp_number() { return static_cast<int>(threadIdx.x / 32); }
__device__ __forceinline__ unsigned lane_number() { return threadIdx.x % 32; }
// A lane has 2 of the 8 columns of a group, from lane_column on, in rows lane_row and lane_row + 8.
__device__ __forceinline__ int lane_row() { return static_cast<int>(lane_number() / 4); }
__device__ __forceinline__ int lane_column() { return static_cast<int>(lane_number() % 4 * 2); }

// A head's columns of some rows in shared memory. `width` is 32, 64 or 128 and at least head_dim.
template <class T, int width>
struct SharedRows {
    static constexpr unsigned chunks = width / 8;
    T* data;

    static __device__ __forceinline__ unsigned place(unsigned row, unsigned chunk) {
        return swizzled(row, chunk, chunks) * 8;
    }
    __device__ __forceinline__ T* chunk(unsigned row, unsigned number) const {
        return data + place(row, number);
    }
    __device__ __forceinline__ SharedRows after(int rows) const { return {data + rows * width}; }
};

// Starts to copy `rows` rows. Rows from `count` on and columns past the head's are zeros. A thread
// stays in one column of chunks, so it needs only one address for the source and one for the
// target.
template <int rows, class T, int width>
__device__ __forceinline__ void copy_rows(const SharedRows<T, width>& to, CudaMatrix<const T> m,
                                          std::int64_t first, int count, int head, int head_dim) {
    constexpr int chunks = SharedRows<T, width>::chunks, step = mma_threads / chunks;
    static_assert(step % 8 == 0 && rows % step == 0);
    const unsigned own = threadIdx.x / chunks, chunk = threadIdx.x % chunks;
    const T* from = m.data + (first + own) * m.stride + head * head_dim + chunk * 8;
    T* shared = to.chunk(own, chunk);
    const bool inside = static_cast<int>(chunk) * 8 < head_dim;
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
        copy16_async_if(inside && static_cast<int>(own) + i * step < count,
                        shared + i * step * width, from);
        from += step * m.stride;
    }
}

// Computes result [parts * 16, columns] = left right^T. The warp's rows of `left` begin at
// left_row.
template <int parts, int columns, class T, int width>
__device__ __forceinline__ void multiply_tiles(const SharedRows<T, width>& left, int left_row,
                                               const SharedRows<T, width>& right,
                                               float (&result)[parts][columns / 8][4]) {
    const unsigned lane = lane_number();
    const T* left_rows = left.data + left_row * width;
    const unsigned a_place = left.place(lane % 16, lane / 16);
    const unsigned b_place = left.place(lane / 16 * 8 + lane % 8, lane / 8 % 2);
#pragma unroll
    for (auto& part : result)
#pragma unroll
        for (auto& values : part)
#pragma unroll
            for (float& value : values) value = 0.0f;
#pragma unroll 4
    for (int k = 0; k < width / 16; ++k) {
        std::uint32_t a[parts][4];
#pragma unroll
        for (int i = 0; i < parts; ++i)
            load_matrices(a[i], left_rows + (a_place ^ (k * 16u)) + i * 16 * width);
#pragma unroll
        for (int n = 0; n < columns / 16; ++n) {
            std::uint32_t b[4];
            load_matrices(b, right.data + (b_place ^ (k * 16u)) + n * 16 * width);
#pragma unroll
            for (int i = 0; i < parts; ++i) {
                multiply_16_8_16(result[i][2 * n], a[i], {b[0], b[1]}, T{});
                multiply_16_8_16(result[i][2 * n + 1], a[i], {b[2], b[3]}, T{});
            }
        }
    }
}

// Computes sum [parts * 16, width] += left right[k * 16 .. k * 16 + 16), where `left` has 16
// columns.
template <int parts, class T, int width>
__device__ __forceinline__ void add_part(const std::uint32_t (&left)[parts][4],
                                         const SharedRows<T, width>& right, int k,
                                         float (&sum)[parts][width / 8][4]) {
    const unsigned lane = lane_number();
    const unsigned b_place = right.place(lane / 8 % 2 * 8 + lane % 8, lane / 16);
#pragma unroll
    for (int n = 0; n < width / 16; ++n) {
        std::uint32_t b[4];
        load_matrices_transposed(b, right.data + (b_place ^ (n * 16u)) + k * 16 * width);
#pragma unroll
        for (int i = 0; i < parts; ++i) {
            multiply_16_8_16(sum[i][2 * n], left[i], {b[0], b[1]}, T{});
            multiply_16_8_16(sum[i][2 * n + 1], left[i], {b[2], b[3]}, T{});
        }
    }
}

// Computes sum [parts * 16, width] += scores [parts * 16, columns] right, with the scores rounded
// to T.
template <int parts, int columns, class T, int width>
__device__ __forceinline__ void add_product(const float (&scores)[parts][columns / 8][4],
                                            const SharedRows<T, width>& right,
                                            float (&sum)[parts][width / 8][4]) {
#pragma unroll
    for (int k = 0; k < columns / 16; ++k) {
        std::uint32_t a[parts][4];
#pragma unroll
        for (int i = 0; i < parts; ++i)
#pragma unroll
            for (int w = 0; w < 4; ++w) {
                const float(&from)[4] = scores[i][2 * k + w / 2];
                a[i][w] = narrow_pair(from[w % 2 * 2], from[w % 2 * 2 + 1], T{});
            }
        add_part(a, right, k, sum);
    }
}

template <int parts, int columns>
__device__ __forceinline__ void scale_values(float (&values)[parts][columns][4], float factor) {
#pragma unroll
    for (auto& part : values)
#pragma unroll
        for (auto& column : part)
#pragma unroll
            for (float& value : column) value *= factor;
}

// Writes the warp's rows of a tile to the matrix; the tile has `count` rows from row `first` on.
// The values pass through the warp's rows of `staging`, so that the writes are wide.
template <int parts, class T, int width>
__device__ __forceinline__ void store_rows(const float (&values)[parts][width / 8][4],
                                           const SharedRows<T, width>& staging, CudaMatrix<T> m,
                                           std::int64_t first, int count, int head, int head_dim) {
    constexpr int chunks = SharedRows<T, width>::chunks, step = 32 / chunks;
    const int own = warp_number() * parts * 16;
#pragma unroll
    for (int i = 0; i < parts; ++i)
#pragma unroll
        for (int n = 0; n < chunks; ++n)
#pragma unroll
            for (int half = 0; half < 2; ++half)
                store4(staging.chunk(own + i * 16 + half * 8 + lane_row(), n) + lane_column(),
                       narrow_pair(values[i][n][half * 2], values[i][n][half * 2 + 1], T{}));
    __syncwarp();
    const int chunk = static_cast<int>(lane_number() % chunks);
    T* to = m.data + first * m.stride + head * head_dim + chunk * 8;
#pragma unroll
    for (int i = 0; i < parts * 16 / step; ++i) {
        const int row = own + i * step + static_cast<int>(lane_number() / chunks);
        if (row < count && chunk * 8 < head_dim)
            store16(to + row * m.stride, load16(staging.chunk(row, chunk)));
    }
    __syncwarp();  // staging may now be written again
}

}  // namespace lockstep::kernels::cuda
