// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/attention/attention_batch.hpp"
#include "runtime/kernels/cuda/attention/attention_scratch.hpp"

// attention_forward and attention_backward choose from these kernels.
namespace lockstep::kernels::cuda {

template <class T>
struct ForwardMatrices {
    CudaMatrix<const T> q, k, v;
    CudaMatrix<T> out;
    float* log_sum_exp;  // [heads, q_total]
};

// Holds one number for each query and head: this project's kernels write [heads, q_total], cuDNN
// writes [q_total, heads].
struct Statistics {
    const float* data;
    std::int64_t head_stride, row_stride;

    __device__ __forceinline__ float at(int head, std::int64_t row) const {
        return data[head * head_stride + row * row_stride];
    }
};

template <class T>
struct BackwardMatrices {
    CudaMatrix<const T> q, k, v, out, d_out;
    Statistics log_sum_exp, delta;  // delta = rowsum(d_out out)
    CudaMatrix<T> dq, dk, dv;
};

constexpr BackwardShape backward_shape(const AttentionBatch& batch) noexcept {
    return {batch.heads, batch.queries.total, batch.keys.total, batch.sequences,
            batch.queries.longest};
}

// Holds the gradients of scores, which the backward kernel for keys writes and the one for queries
// reads: tiles of keys by queries for the heads of a batch. A tile consists of blocks of 8 by 8,
// whose rows are keys, because tensor cores write and read them so. Tiles that a causal mask hides
// are not written.
template <class T>
struct ScoreGradients {
    static constexpr int side = score_tile;
    T* data;
    std::int64_t key_tiles;  // for each head
    int query_tiles;         // for each sequence

    // Sequence s begins at tile begin / side + s, after the last tile of the previous sequence.
    static ScoreGradients of(const AttentionBatch& batch) {
        const BackwardShape shape = backward_shape(batch);
        return {nullptr, score_key_tiles(shape), static_cast<int>(score_query_tiles(shape))};
    }
    // Returns a tile of the batch's head `number`, in the sequence whose keys begin at row `begin`.
    __device__ __forceinline__ T* tile(int number, int sequence, std::int64_t begin, int first_key,
                                       int first_query) const {
        const std::int64_t row = begin / side + sequence + first_key / side;
        return data + ((number * key_tiles + row) * query_tiles + first_query / side) * side * side;
    }
};

// These take every head_dim up to 256 and every alignment, and calculate products in fp32.
constexpr int max_head_dim = 256;
template <class T>
void plain_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m);
template <class T>
void plain_backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m);

// These use tensor cores: for 16-bit types, a head_dim that is a multiple of 8 up to 128, and
// matrices whose rows can be read by vectors.
template <class T>
void mma_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m);
// The first writes dK, dV and the gradients of scores; the second calculates dQ from these.
template <class T>
void mma_backward_keys(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
                       const ScoreGradients<T>& ds);
template <class T>
void mma_backward_queries(CudaContext& ctx, const AttentionBatch& batch,
                          const BackwardMatrices<T>& m, const ScoreGradients<T>& ds);

// Calculates all of backward in one launch, for sequences so short that a block has enough shared
// memory. It calculates delta itself and does not read m.delta. Returns false if it did nothing.
template <class T>
bool mma_backward_short(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
                        const AttentionBiases<CudaSpace>& biases);

// Sums the gradients of heads [k_total, heads * head_dim] that share keys.
template <class T>
void sum_shared_heads(CudaContext& ctx, const AttentionBatch& batch, CudaMatrix<const T> of_heads,
                      CudaMatrix<T> sum);

// Calculates delta for every query.
template <class T>
void attention_delta(CudaContext& ctx, const AttentionBatch& batch, CudaMatrix<const T> out,
                     CudaMatrix<const T> d_out, float* delta);

}  // namespace lockstep::kernels::cuda
