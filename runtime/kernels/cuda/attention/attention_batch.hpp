// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "runtime/core/view.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/cuda/primitives/mask.hpp"

namespace lockstep::kernels::cuda {

enum class Side { queries, keys };

// The queries or the keys of all sequences. They have `total` rows, filler included. `longest` is
// at least the length of the longest sequence.
struct RaggedSide {
    const std::int32_t* offsets;
    std::int64_t total;
    int longest;
};
constexpr int tiles_of(const RaggedSide& side, int tile) noexcept {
    return (side.longest + tile - 1) / tile;
}

// The description of a batch that kernels receive. They calculate exp(x) as exp2(x log2(e)), so
// scores are multiplied by scale_of_2(), which includes log2(e).
struct AttentionBatch {
    RaggedSide queries, keys;
    const std::uint32_t* rows;
    int sequences, heads, head_dim;
    kernels::Mask mask;
    Mask dropout;
    float scale;
    int first_head = 0;     // first of the `heads` heads in the matrices
    int heads_per_key = 1;  // so many heads in a row read the same columns of k and v
    int window = 0;         // query i sees no more than keys i - window + 1..i; 0: no such limit

    __device__ __forceinline__ int kv_head(int head) const { return head / heads_per_key; }
    // Returns the first key that the query sees.
    __device__ __forceinline__ int first_key(int query) const {
        return window == 0 || query < window ? 0 : query - window + 1;
    }
    // Returns the end of the queries that see keys before key_end, among so many.
    __device__ __forceinline__ int end_of_queries(int key_end, int count) const {
        return window == 0 || count - key_end < window ? count : key_end - 1 + window;
    }
    __device__ __forceinline__ float scale_of_2() const { return scale * log2_e; }
    static constexpr float log2_e = 1.44269504088896f, ln_2 = 0.693147180559945f;
};

}  // namespace lockstep::kernels::cuda
