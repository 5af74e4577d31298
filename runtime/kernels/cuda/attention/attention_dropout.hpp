// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/attention/attention_tile.hpp"
#include "runtime/kernels/cuda/primitives/dropout_mask.hpp"

// These functions calculate Philox's words for 8 columns of scores, in the layout in which tensor
// cores leave the scores in a warp's registers. One call makes the words of 4 keys, so lanes share
// the calls and exchange words: each lane makes one call for its 4 scores.
namespace lockstep::kernels::cuda {

template <Masking masking>
struct HeadMask {
    std::uint64_t key = 0;
    std::uint32_t site = 0, row = 0, threshold = 0;

    __device__ __forceinline__ HeadMask(const AttentionBatch& batch, const AttentionTile& at) {
        if constexpr (masking == Masking::on) {
            key = mask_key(batch.dropout);
            site = batch.dropout.site + static_cast<std::uint32_t>(at.head);
            row = batch.rows[at.sequence];
            threshold = batch.dropout.threshold;
        }
    }

    __device__ __forceinline__ PhiloxBlock block(int query, int first_key) const {
        return philox<dropout_rounds>({site, row, static_cast<std::uint32_t>(query),
                                       static_cast<std::uint32_t>(first_key / 4)},
                                      key);
    }

    // Sets kept[i] if score i of this lane is kept. Rows are queries, and `query` is this lane's
    // first one. Columns are keys from first_key on, which is a multiple of 8.
    __device__ __forceinline__ void by_queries(int query, int first_key, bool (&kept)[4]) const {
        const unsigned lane = threadIdx.x % 4;
        const bool even = lane % 2 == 0;
        const PhiloxBlock words =
            block(even ? query : query + 8, first_key + static_cast<int>(lane) / 2 * 4);
        const std::uint32_t low = __shfl_xor_sync(0xFFFFFFFFu, even ? words[2] : words[0], 1);
        const std::uint32_t high = __shfl_xor_sync(0xFFFFFFFFu, even ? words[3] : words[1], 1);
        kept[0] = (even ? words[0] : low) >= threshold;
        kept[1] = (even ? words[1] : high) >= threshold;
        kept[2] = (even ? low : words[2]) >= threshold;
        kept[3] = (even ? high : words[3]) >= threshold;
    }

    // Does the same if rows are keys from first_key on, a multiple of 8, and `query` is the query
    // of this lane's first column. The lanes of 4 keys transpose a square of words.
    __device__ __forceinline__ void by_keys(int query, int first_key, bool (&kept)[4]) const {
        const unsigned number = threadIdx.x / 4 % 8, own = number % 4;
        const PhiloxBlock words = block(query + static_cast<int>(own % 2),
                                        first_key + static_cast<int>(number / 4 * 4 + own / 2 * 8));
        std::uint32_t half[4], whole[4];
        const bool even = own % 2 == 0, low = own < 2;
#pragma unroll
        for (unsigned i = 0; i < 4; i += 2) {
            const std::uint32_t other =
                __shfl_xor_sync(0xFFFFFFFFu, even ? words[i + 1] : words[i], 4);
            half[i] = even ? words[i] : other;
            half[i + 1] = even ? other : words[i + 1];
        }
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
            const std::uint32_t other =
                __shfl_xor_sync(0xFFFFFFFFu, low ? half[i + 2] : half[i], 8);
            whole[i] = low ? half[i] : other;
            whole[i + 2] = low ? other : half[i + 2];
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) kept[i] = whole[i] >= threshold;
    }
};

}  // namespace lockstep::kernels::cuda
