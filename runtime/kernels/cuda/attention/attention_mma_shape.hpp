// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "runtime/kernels/cuda/attention/attention_dropout.hpp"
#include "runtime/kernels/cuda/attention/attention_mma.hpp"

// These functions decide which scores count. A warp's rows are queries from first_query on, and
// columns are keys from first_key on.
namespace lockstep::kernels::cuda {

// Returns how many keys the tile's last query sees.
__device__ __forceinline__ int visible_keys(const AttentionBatch& batch, const AttentionTile& at) {
    if (batch.mask == kernels::Mask::none) return at.others;
    return std::min(at.others, at.first + at.count);
}

// Sets the scores of keys past the sequence's end, and under a causal mask past the query, to minus
// infinity, so that they get no probability.
template <int parts, int columns>
__device__ __forceinline__ void hide_keys(const AttentionBatch& batch, int first_query,
                                          int first_key, int keys,
                                          float (&scores)[parts][columns][4]) {
    const bool causal = batch.mask == kernels::Mask::causal;
    const int end = first_key + columns * 8;
    if (end <= keys && (!causal || end <= first_query + 1)) return;
#pragma unroll
    for (int i = 0; i < parts; ++i)
#pragma unroll
        for (int n = 0; n < columns; ++n)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int query = first_query + i * 16 + e / 2 * 8 + lane_row();
                const int key = first_key + n * 8 + lane_column() + e % 2;
                if (key >= keys || (causal && key > query)) scores[i][n][e] = -INFINITY;
            }
}

// Drops scores. The factor 1 / (1 - rate) is not applied here.
template <Masking masking, int parts, int columns>
__device__ __forceinline__ void drop_by_queries(const HeadMask<masking>& mask, int first_query,
                                                int first_key, float (&scores)[parts][columns][4]) {
    if constexpr (masking == Masking::on) {
#pragma unroll
        for (int i = 0; i < parts; ++i)
#pragma unroll
            for (int n = 0; n < columns; ++n) {
                bool kept[4];
                mask.by_queries(first_query + i * 16 + lane_row(), first_key + n * 8, kept);
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    if (!kept[e]) scores[i][n][e] = 0.0f;
            }
    }
}

}  // namespace lockstep::kernels::cuda
