// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instructions/memory.hpp"
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_tile.hpp"
#include "runtime/kernels/cuda/primitives/dropout_mask.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"

// These functions compute products of tiles in fp32 with 16 x 16 threads. Thread (down, across)
// owns `side` rows from down * side on. It owns the columns across + 16 j of scores, and four
// columns from 4 across + 64 m on of other results. Keys are permuted in shared memory, so that a
// thread's scores belong to consecutive keys, as dropout needs them, and no two threads read the
// same bank.
namespace lockstep::kernels::cuda {

constexpr int plain_threads = 256;
// Every GPU grants a block this much shared memory: 99 KiB on those of compute capability 8.6 and
// 8.9.
constexpr std::size_t least_shared_bytes = std::size_t{99} << 10;

template <int width, int tile>
struct PlainShape {
    static constexpr int side = tile / 16, parts = width / 64;
    // Rows are 16 bytes longer than needed, so that the elements of a column lie in different
    // banks.
    using Rows = float[tile][width + 4];
    using Scores = float[tile][tile + 4];
    using ScorePart = float[side][side];
    using ResultPart = float[side][parts][4];
};

// Calls run<width, tile>(). Halves the tile if this GPU does not grant a block the shared memory.
template <template <int, int> class Shared, int width, int tile, class Run>
void with_largest_tile(const CudaContext& ctx, const Run& run) {
    if constexpr (sizeof(Shared<width, tile>) > least_shared_bytes)
        if (sizeof(Shared<width, tile>) > ctx.properties().max_shared_bytes)
            return with_largest_tile<Shared, width, tile / 2>(ctx, run);
    run.template operator()<width, tile>();
}

// Does the same with the smallest width that holds a head.
template <template <int, int> class Shared, class Run>
void by_width(const CudaContext& ctx, int head_dim, const Run& run) {
    if (head_dim <= 64) return with_largest_tile<Shared, 64, 64>(ctx, run);
    if (head_dim <= 128) return with_largest_tile<Shared, 128, 64>(ctx, run);
    with_largest_tile<Shared, max_head_dim, 32>(ctx, run);
}

__device__ __forceinline__ int thread_down() { return static_cast<int>(threadIdx.x) / 16; }
__device__ __forceinline__ int thread_across() { return static_cast<int>(threadIdx.x) % 16; }

enum class Layout { in_order, as_keys };

// Returns which row of its tile is stored at `position`.
template <Layout layout, int tile>
__device__ __forceinline__ int row_at(int position) {
    return layout == Layout::in_order ? position : position % 16 * (tile / 16) + position / 16;
}

// Copies a head's columns of `count` rows, widened to float. The rest of the tile becomes zeros.
template <Layout layout, int width, int tile, class T>
__device__ __forceinline__ void load_rows(CudaMatrix<const T> m, std::int64_t first, int count,
                                          int head, int head_dim, float (&to)[tile][width + 4]) {
    const T* from = m.data + first * m.stride + head * head_dim;
    for (int i = static_cast<int>(threadIdx.x); i < tile * width; i += plain_threads) {
        const int position = i / width, col = i % width;
        const int row = row_at<layout, tile>(position);
        to[position][col] =
            row < count && col < head_dim ? widen(from[row * m.stride + col]) : 0.0f;
    }
}

template <Layout layout, int width, int tile, class T>
__device__ __forceinline__ void store_rows(const float (&part)[tile / 16][width / 64][4],
                                           CudaMatrix<T> m, std::int64_t first, int count, int head,
                                           int head_dim) {
    T* to = m.data + first * m.stride + head * head_dim;
    for (int i = 0; i < tile / 16; ++i) {
        const int row = row_at<layout, tile>(thread_down() * (tile / 16) + i);
        if (row >= count) continue;
        for (int p = 0; p < width / 64; ++p)
            for (int c = 0; c < 4; ++c) {
                const int col = p * 64 + thread_across() * 4 + c;
                if (col < head_dim) to[row * m.stride + col] = narrow<T>(part[i][p][c]);
            }
    }
}

// Computes scores = a b^T.
template <int width, int tile>
__device__ __forceinline__ void multiply_rows(const float (&a)[tile][width + 4],
                                              const float (&b)[tile][width + 4],
                                              float (&scores)[tile / 16][tile / 16]) {
    constexpr int side = tile / 16;
    for (auto& row : scores)
        for (float& score : row) score = 0.0f;
#pragma unroll 2
    for (int c = 0; c < width; c += 4) {
        float left[side][4], right[side][4];
#pragma unroll
        for (int i = 0; i < side; ++i) {
            load(&a[thread_down() * side + i][c], left[i]);
            load(&b[thread_across() + 16 * i][c], right[i]);
        }
#pragma unroll
        for (int i = 0; i < side; ++i)
#pragma unroll
            for (int j = 0; j < side; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e) scores[i][j] += left[i][e] * right[j][e];
    }
}

template <int tile>
__device__ __forceinline__ void store_scores(const float (&scores)[tile / 16][tile / 16],
                                             float (&to)[tile][tile + 4]) {
    constexpr int side = tile / 16;
#pragma unroll
    for (int i = 0; i < side; ++i)
#pragma unroll
        for (int j = 0; j < side; ++j)
            to[thread_down() * side + i][thread_across() + 16 * j] = scores[i][j];
}

enum class Scores { as_they_are, transposed };

// Computes sum += scores b, or scores^T b.
template <Scores order, int width, int tile>
__device__ __forceinline__ void add_product(const float (&scores)[tile][tile + 4],
                                            const float (&b)[tile][width + 4],
                                            float (&sum)[tile / 16][width / 64][4]) {
    constexpr int side = tile / 16;
#pragma unroll 2
    for (int j = 0; j < tile; ++j) {
        float left[side];
#pragma unroll
        for (int i = 0; i < side; ++i)
            left[i] = order == Scores::as_they_are ? scores[thread_down() * side + i][j]
                                                   : scores[j][thread_down() * side + i];
#pragma unroll
        for (int p = 0; p < width / 64; ++p) {
            float right[4];
            load(&b[j][p * 64 + thread_across() * 4], right);
#pragma unroll
            for (int i = 0; i < side; ++i)
#pragma unroll
                for (int c = 0; c < 4; ++c) sum[i][p][c] += left[i] * right[c];
        }
    }
}

// Sets factors[i][j] to the dropout factors of this thread's scores of a tile: ones if there is no
// dropout.
template <int tile>
__device__ __forceinline__ void plain_factors(const AttentionBatch& batch, const AttentionTile& at,
                                              std::uint64_t key, int first_query, int first_key,
                                              float (&factors)[tile / 16][tile / 16]) {
    constexpr int side = tile / 16;
    const Mask& mask = batch.dropout;
    const int column = first_key + thread_across() * side;
    for (int i = 0; i < side; ++i) {
        if (mask.state == nullptr) {
            for (float& factor : factors[i]) factor = 1.0f;
            continue;
        }
        const int query = first_query + thread_down() * side + i;
        const PhiloxBlock words = philox<dropout_rounds>(
            {mask.site + static_cast<std::uint32_t>(at.head), batch.rows[at.sequence],
             static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(column / 4)},
            key);
        for (int j = 0; j < side; ++j)
            factors[i][j] =
                words[static_cast<unsigned>((column + j) % 4)] < mask.threshold ? 0.0f : mask.scale;
    }
}

// Returns whether the query sees the key.
__device__ __forceinline__ bool visible(const AttentionBatch& batch, int query, int key, int keys) {
    return key < keys &&
           (batch.mask == kernels::Mask::none || (key <= query && key >= batch.first_key(query)));
}

// Requires that all threads of a row of scores call it together.
template <class Operation>
__device__ __forceinline__ float across_reduce(float value) {
    for (int distance = 8; distance > 0; distance /= 2)
        value = Operation{}(value, __shfl_xor_sync(0xFFFFFFFFu, value, distance, 16));
    return value;
}

}  // namespace lockstep::kernels::cuda
