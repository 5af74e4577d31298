// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "instructions/arithmetic.hpp"
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_mma_shape.hpp"

// The kernels of attention's backward use these functions to calculate the gradients of scores on
// tensor cores. A warp's rows are keys, and its columns are the queries of a tile in shared memory.
namespace lockstep::kernels::cuda {

// The number of queries that are processed at once; it is smaller if the two sums fill the
// registers.
template <int width>
constexpr int query_tile = width > 64 ? 32 : 64;

// A tile of queries in shared memory, with the values by which its scores are shifted: log-sum-exp
// in powers of 2, infinite past the last query so that nothing gets a probability, and the scaled
// delta.
template <class T, int width>
struct QueryTile {
    static constexpr int queries = query_tile<width>;
    SharedRows<T, width> q;
    float* shifts;

    __device__ __forceinline__ SharedRows<T, width> d_out() const { return q.after(queries); }

    __device__ __forceinline__ void begin_copy(const AttentionBatch& batch,
                                               const BackwardMatrices<T>& m,
                                               const AttentionTile& at, int first) const {
        const int count = at.others - first;
        copy_rows<queries>(q, m.q, at.other_row + first, count, at.head, batch.head_dim);
        copy_rows<queries>(d_out(), m.d_out, at.other_row + first, count, at.head, batch.head_dim);
    }
    // Loads one shift for each of the first 2 * queries threads; store_shift() stores it later.
    static __device__ __forceinline__ float load_shift(const AttentionBatch& batch,
                                                       const BackwardMatrices<T>& m,
                                                       const AttentionTile& at, int first) {
        const auto thread = static_cast<int>(threadIdx.x);
        const int query = first + thread % queries;
        const bool is_delta = thread >= queries;
        if (query >= at.others) return is_delta ? 0.0f : INFINITY;
        return is_delta ? m.delta.at(at.head, at.other_row + query) * batch.scale
                        : m.log_sum_exp.at(at.head, at.other_row + query) * AttentionBatch::log2_e;
    }
    __device__ __forceinline__ void store_shift(float shift) const {
        if (threadIdx.x < 2 * queries) shifts[threadIdx.x] = shift;
    }
    __device__ __forceinline__ float log_sum_exp(int column) const { return shifts[column]; }
    __device__ __forceinline__ float delta(int column) const { return shifts[queries + column]; }
};

// Replaces S^T and V dO^T by (P M)^T and dS^T.
template <Masking masking, class T, int width, int columns>
__device__ __forceinline__ void gradients_of_scores(
    const AttentionBatch& batch, const HeadMask<masking>& mask, int first_key, int first_query,
    const QueryTile<T, width>& queries, float (&p)[1][columns][4], float (&ds)[1][columns][4]) {
    const bool diagonal = batch.mask == kernels::Mask::causal && first_query < first_key + 15;
    const float scale = batch.scale * batch.dropout.scale;
#pragma unroll
    for (int n = 0; n < columns; ++n) {
        bool kept[4] = {true, true, true, true};
        if constexpr (masking == Masking::on)
            mask.by_keys(first_query + n * 8 + lane_column(), first_key, kept);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int column = n * 8 + lane_column() + e % 2;
            float probability =
                power_of_2(p[0][n][e] * batch.scale_of_2() - queries.log_sum_exp(column));
            const int key = first_key + e / 2 * 8 + lane_row();
            if (diagonal && key > first_query + column) probability = 0.0f;
            ds[0][n][e] =
                probability * ((kept[e] ? ds[0][n][e] * scale : 0.0f) - queries.delta(column));
            p[0][n][e] = kept[e] ? probability : 0.0f;
        }
    }
}

// Writes the gradients of the warp's keys and the tile's queries from first_query on; keys past the
// last one get zeros.
template <class T, int columns>
__device__ __forceinline__ void store_gradients(T* tile, int first_query, int own, int count,
                                                const float (&ds)[1][columns][4]) {
    constexpr int blocks = ScoreGradients<T>::side / 8;
    const int first_block = first_query % ScoreGradients<T>::side / 8 * blocks + own / 8;
    T* to = tile + first_block * 64 + lane_row() * 8 + lane_column();
#pragma unroll
    for (int n = 0; n < columns; ++n)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const bool inside = own + half * 8 + lane_row() < count;
            store4(to + (n * blocks + half) * 64,
                   inside ? narrow_pair(ds[0][n][half * 2], ds[0][n][half * 2 + 1], T{}) : 0u);
        }
}

// Reads such a tile from shared memory: 16 keys from 16 * part on, for the warp's 16 queries from
// `own` on.
template <class T>
__device__ __forceinline__ void load_gradients(const T* tile, int own, int part,
                                               std::uint32_t (&values)[4]) {
    constexpr int blocks = ScoreGradients<T>::side / 8;
    const int lane = static_cast<int>(lane_number()), matrix = lane / 8;
    const int block = (own / 8 + matrix % 2) * blocks + 2 * part + matrix / 2;
    load_matrices_transposed(values, tile + block * 64 + lane % 8 * 8);
}

}  // namespace lockstep::kernels::cuda
