// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "instructions/arithmetic.hpp"
#include "runtime/kernels/cuda/attention/attention_dropout.hpp"
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_mma.hpp"
#include "runtime/kernels/cuda/attention/attention_mma_shape.hpp"

// The algorithm is Dao, "FlashAttention-2" (2023): a warp keeps whole rows of scores in registers,
// so that only keys and values pass through shared memory. Each tile is copied while the previous
// one is multiplied.
namespace lockstep::kernels::cuda {

namespace {

// Holds for each of a lane's rows the maximum score so far, and this lane's part of the sum of
// probabilities relative to it.
template <int parts>
struct SoftmaxRows {
    float largest[parts][2], sum[parts][2];

    __device__ __forceinline__ SoftmaxRows() {
        for (int i = 0; i < parts; ++i)
            for (int half = 0; half < 2; ++half) {
                largest[i][half] = -INFINITY;
                sum[i][half] = 0.0f;
            }
    }

    // Turns scores into unnormalised probabilities and scales the previous sums to the new maximum.
    template <int scores_parts, int out_parts>
    __device__ __forceinline__ void add(float (&scores)[parts][scores_parts][4], float scale,
                                        float (&out)[parts][out_parts][4]) {
#pragma unroll
        for (int i = 0; i < parts; ++i)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float now = largest[i][half];
#pragma unroll
                for (auto& part : scores[i])
                    now = fmaxf(now, fmaxf(part[half * 2], part[half * 2 + 1]));
                now = fmaxf(now, __shfl_xor_sync(0xFFFFFFFFu, now, 1));
                now = fmaxf(now, __shfl_xor_sync(0xFFFFFFFFu, now, 2));
                const float correction = power_of_2((largest[i][half] - now) * scale);
                largest[i][half] = now;
                float added = 0.0f;
#pragma unroll
                for (auto& part : scores[i])
#pragma unroll
                    for (int c = half * 2; c < half * 2 + 2; ++c) {
                        part[c] = power_of_2(part[c] * scale - now * scale);
                        added += part[c];
                    }
                sum[i][half] = sum[i][half] * correction + added;
#pragma unroll
                for (auto& part : out[i]) {
                    part[half * 2] *= correction;
                    part[half * 2 + 1] *= correction;
                }
            }
    }
};

// Divides by the sums and writes the rows and their log-sum-exp.
template <int parts, class T, int width>
__device__ __forceinline__ void finish(const AttentionBatch& batch, const ForwardMatrices<T>& m,
                                       const AttentionTile& at, const SoftmaxRows<parts>& rows,
                                       float (&out)[parts][width / 8][4],
                                       const SharedRows<T, width>& staging) {
    float* log_sum_exp = m.log_sum_exp + at.head * batch.queries.total + at.first_row();
#pragma unroll
    for (int i = 0; i < parts; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float sum = rows.sum[i][half];
            sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
            sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
            const float factor = at.others == 0 ? 0.0f : batch.dropout.scale / sum;
#pragma unroll
            for (auto& part : out[i]) {
                part[half * 2] *= factor;
                part[half * 2 + 1] *= factor;
            }
            const int row = (warp_number() * parts + i) * 16 + half * 8 + lane_row();
            if (row < at.count && lane_number() % 4 == 0)
                log_sum_exp[row] =
                    at.others == 0 ? 0.0f : rows.largest[i][half] * batch.scale + logf(sum);
        }
    store_rows<parts, T, width>(out, staging, m.out, at.first_row(), at.count, at.head,
                                batch.head_dim);
}

// Says whether each head has keys of its own. Another number of a head of keys would take one more
// register, and the kernel has none to spare.
enum class KeyHeads { own, shared };

template <class T, int width, int parts, Masking masking, KeyHeads key_heads>
__global__ void __launch_bounds__(mma_threads)
    forward_kernel(AttentionBatch batch, ForwardMatrices<T> m) {
    constexpr int tile = mma_tile * parts;
    AttentionTile at;
    if (!find_tile<Side::queries, tile>(batch, at, m.out)) return;
    const SharedRows<T, width> q{dynamic_shared_memory<T>()};
    const auto k = [&](int stage) { return q.after(tile + stage * 2 * mma_tile); };
    const auto v = [&](int stage) { return k(stage).after(mma_tile); };
    const int keys = visible_keys(batch, at), own = warp_number() * parts * 16;
    const int kv_head = key_heads == KeyHeads::own ? at.head : batch.kv_head(at.head);
    const auto copy_keys = [&](int first, int stage) {
        copy_rows<mma_tile>(k(stage), m.k, at.other_row + first, keys - first, kv_head,
                            batch.head_dim);
        copy_rows<mma_tile>(v(stage), m.v, at.other_row + first, keys - first, kv_head,
                            batch.head_dim);
    };
    copy_rows<tile>(q, m.q, at.first_row(), at.count, at.head, batch.head_dim);
    if (keys > 0) copy_keys(0, 0);
    end_copy_group();
    const HeadMask<masking> mask(batch, at);
    SoftmaxRows<parts> rows;
    float out[parts][width / 8][4] = {};
    for (int first = 0, stage = 0; first < keys; first += mma_tile, stage ^= 1) {
        wait_copies<0>();
        __syncthreads();  // this tile is complete, and no thread still reads the previous one
        if (first + mma_tile < keys) copy_keys(first + mma_tile, stage ^ 1);
        end_copy_group();
        float scores[parts][mma_tile / 8][4];
        multiply_tiles<parts, mma_tile>(q, own, k(stage), scores);
        hide_keys(batch, at.first + own, first, keys, scores);
        rows.add(scores, batch.scale_of_2(), out);
        drop_by_queries(mask, at.first + own, first, scores);
        add_product<parts, mma_tile>(scores, v(stage), out);
    }
    wait_copies<0>();
    __syncthreads();
    finish(batch, m, at, rows, out, q);
}

template <class T, int width, int parts, Masking masking>
void run(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m) {
    constexpr int tile = mma_tile * parts;
    const std::size_t bytes = sizeof(T) * width * (tile + 4 * mma_tile);
    launch(ctx,
           batch.heads_per_key == 1 ? forward_kernel<T, width, parts, masking, KeyHeads::own>
                                    : forward_kernel<T, width, parts, masking, KeyHeads::shared>,
           {tile_blocks(batch, batch.queries, tile), mma_threads, bytes}, batch, m);
}

// Two parts per warp read keys half as often from shared memory. Short sequences would leave one
// part idle, and with dropout's words two parts do not fit the registers.
template <class T, int width>
void run(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m) {
    if (batch.dropout.state != nullptr) return run<T, width, 1, Masking::on>(ctx, batch, m);
    if (batch.queries.longest <= mma_tile) return run<T, width, 1, Masking::off>(ctx, batch, m);
    run<T, width, 2, Masking::off>(ctx, batch, m);
}

}  // namespace

template <class T>
void mma_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m) {
    if (batch.head_dim <= 32) return run<T, 32>(ctx, batch, m);
    if (batch.head_dim <= 64) return run<T, 64>(ctx, batch, m);
    run<T, max_mma_head_dim>(ctx, batch, m);
}

template void mma_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<bf16>&);
template void mma_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<fp16>&);

}  // namespace lockstep::kernels::cuda
