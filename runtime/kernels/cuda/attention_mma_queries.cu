// SPDX-License-Identifier: Apache-2.0
#include "instructions/arithmetic.hpp"
#include "runtime/kernels/cuda/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention_mma_shape.hpp"

// dQ = dS K with P = exp(S - lse) and dS = P (M dO V^T - delta) scale; M are dropout's factors.
namespace lockstep::kernels::cuda {

namespace {

// What the rows of a lane are shifted by.
struct QueryRows {
    float log_sum_exp[2], delta[2];

    template <class T>
    __device__ __forceinline__ QueryRows(const AttentionBatch& batch, const BackwardMatrices<T>& m,
                                         const AttentionTile& at, int own) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = own + half * 8 + lane_row();
            const bool inside = row < at.count;
            const std::int64_t query = at.first_row() + row;
            log_sum_exp[half] =
                inside ? m.log_sum_exp.at(at.head, query) * AttentionBatch::log2_e : 0.0f;
            delta[half] = inside ? m.delta.at(at.head, query) * batch.scale : 0.0f;
        }
    }
};

// From S and dO V^T to dS, which takes the place of S.
template <Masking masking, int columns>
__device__ __forceinline__ void gradients_of_scores(const AttentionBatch& batch,
                                                    const HeadMask<masking>& mask, int first_query,
                                                    int first_key, const QueryRows& rows,
                                                    float (&scores)[1][columns][4],
                                                    const float (&dp)[1][columns][4]) {
    const float scale = batch.scale * batch.dropout.scale;
#pragma unroll
    for (int n = 0; n < columns; ++n) {
        bool kept[4] = {true, true, true, true};
        if constexpr (masking == Masking::on)
            mask.by_queries(first_query + lane_row(), first_key + n * 8, kept);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float p =
                power_of_2(scores[0][n][e] * batch.scale_of_2() - rows.log_sum_exp[e / 2]);
            scores[0][n][e] = p * ((kept[e] ? dp[0][n][e] * scale : 0.0f) - rows.delta[e / 2]);
        }
    }
}

template <class T, int width, Masking masking>
__global__ void __launch_bounds__(mma_threads)
    queries_kernel(AttentionBatch batch, BackwardMatrices<T> m) {
    AttentionTile at;
    if (!find_tile<Side::queries, mma_tile>(batch, at, m.dq)) return;
    const SharedRows<T, width> q{dynamic_shared_memory<T>()};
    const SharedRows<T, width> d_out = q.after(mma_tile);
    const auto k = [&](int stage) { return q.after(2 * mma_tile + stage * 2 * mma_tile); };
    const auto v = [&](int stage) { return k(stage).after(mma_tile); };
    const int keys = visible_keys(batch, at), own = warp_number() * 16, head = at.head;
    const auto copy_keys = [&](int first, int stage) {
        copy_rows<mma_tile>(k(stage), m.k, at.other_row + first, keys - first, head,
                            batch.head_dim);
        copy_rows<mma_tile>(v(stage), m.v, at.other_row + first, keys - first, head,
                            batch.head_dim);
    };
    copy_rows<mma_tile>(q, m.q, at.first_row(), at.count, head, batch.head_dim);
    copy_rows<mma_tile>(d_out, m.d_out, at.first_row(), at.count, head, batch.head_dim);
    if (keys > 0) copy_keys(0, 0);
    end_copy_group();
    const HeadMask<masking> mask(batch, at);
    const QueryRows rows(batch, m, at, own);
    float dq[1][width / 8][4] = {};
    for (int first = 0, stage = 0; first < keys; first += mma_tile, stage ^= 1) {
        wait_copies<0>();
        __syncthreads();  // this tile is there for all, and nobody reads the one before any more
        if (first + mma_tile < keys) copy_keys(first + mma_tile, stage ^ 1);
        end_copy_group();
        float scores[1][mma_tile / 8][4], dp[1][mma_tile / 8][4];
        multiply_tiles<1, mma_tile>(q, own, k(stage), scores);
        multiply_tiles<1, mma_tile>(d_out, own, v(stage), dp);
        hide_keys(batch, at.first + own, first, keys, scores);
        gradients_of_scores(batch, mask, at.first + own, first, rows, scores, dp);
        add_product<1, mma_tile>(scores, k(stage), dq);
    }
    wait_copies<0>();
    __syncthreads();
    store_rows<1, T, width>(dq, q, m.dq, at.first_row(), at.count, head, batch.head_dim);
}

template <class T, int width>
void run(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m) {
    const std::size_t bytes = sizeof(T) * width * 6 * mma_tile;
    launch(ctx,
           batch.dropout.state == nullptr ? queries_kernel<T, width, Masking::off>
                                          : queries_kernel<T, width, Masking::on>,
           {tile_blocks(batch, batch.queries, mma_tile), mma_threads, bytes}, batch, m);
}

}  // namespace

template <class T>
void mma_backward_queries(CudaContext& ctx, const AttentionBatch& batch,
                          const BackwardMatrices<T>& m) {
    if (batch.head_dim <= 32) return run<T, 32>(ctx, batch, m);
    if (batch.head_dim <= 64) return run<T, 64>(ctx, batch, m);
    run<T, most_mma_head_dim>(ctx, batch, m);
}

template void mma_backward_queries(CudaContext&, const AttentionBatch&,
                                   const BackwardMatrices<bf16>&);
template void mma_backward_queries(CudaContext&, const AttentionBatch&,
                                   const BackwardMatrices<fp16>&);

}  // namespace lockstep::kernels::cuda
