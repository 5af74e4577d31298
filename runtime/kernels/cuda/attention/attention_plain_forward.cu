// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_plain.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"

// The algorithm is Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), by
// tiles of keys as in Dao et al., "FlashAttention" (2022).
namespace lockstep::kernels::cuda {

namespace {

template <int width, int tile>
struct Shared {
    using Shape = PlainShape<width, tile>;
    alignas(16) typename Shape::Rows q, k, v;
    alignas(16) typename Shape::Scores p;
};

// A thread's part of its rows: the largest score so far, and the sums relative to it.
template <int width, int tile>
struct Softmax {
    float largest[tile / 16], sum[tile / 16];
    float out[tile / 16][width / 64][4];

    __device__ __forceinline__ void start() {
        for (int i = 0; i < tile / 16; ++i) {
            largest[i] = -INFINITY;
            sum[i] = 0.0f;
            for (auto& part : out[i])
                for (float& value : part) value = 0.0f;
        }
    }

    // Turns scores into unnormalised probabilities and scales the previous sums to the new maximum.
    __device__ __forceinline__ void add(float (&scores)[tile / 16][tile / 16], float scale) {
        for (int i = 0; i < tile / 16; ++i) {
            float now = largest[i];
            for (const float score : scores[i]) now = fmaxf(now, score * scale);
            now = across_reduce<Largest>(now);
            const float shift = now == -INFINITY ? 0.0f : now;  // zero before the first key
            const float correction = exp2f(largest[i] - shift);
            largest[i] = now;
            float added = 0.0f;
            for (float& score : scores[i]) {
                score = exp2f(score * scale - shift);
                added += score;
            }
            sum[i] = sum[i] * correction + across_reduce<Sum>(added);
            for (auto& part : out[i])
                for (float& value : part) value *= correction;
        }
    }
};

template <int width, int tile, class T>
__device__ __forceinline__ void finish(const AttentionBatch& batch, const ForwardMatrices<T>& m,
                                       const AttentionTile& at, Softmax<width, tile>& softmax) {
    for (int i = 0; i < tile / 16; ++i) {
        const float sum = softmax.sum[i];
        const int row = thread_down() * (tile / 16) + i;
        for (auto& part : softmax.out[i])
            for (float& value : part) value = at.others == 0 ? 0.0f : value / sum;
        if (row < at.count && thread_across() == 0)
            m.log_sum_exp[at.head * batch.queries.total + at.first_row() + row] =
                at.others == 0 ? 0.0f : softmax.largest[i] * AttentionBatch::ln_2 + logf(sum);
    }
    store_rows<Layout::in_order, width, tile>(softmax.out, m.out, at.first_row(), at.count, at.head,
                                              batch.head_dim);
}

template <int width, int tile, class T>
__global__ void __launch_bounds__(plain_threads, 1)
    forward_kernel(AttentionBatch batch, ForwardMatrices<T> m) {
    constexpr int side = tile / 16;
    AttentionTile at;
    if (!find_tile<Side::queries, tile>(batch, at, m.out)) return;
    auto& shared = *dynamic_shared_memory<Shared<width, tile>>();
    const std::uint64_t key = batch.dropout.state == nullptr ? 0 : mask_key(batch.dropout);
    const int keys =
        batch.mask == kernels::Mask::none ? at.others : std::min(at.others, at.first + at.count);
    Softmax<width, tile> softmax;
    softmax.start();
    load_rows<Layout::in_order, width, tile>(m.q, at.first_row(), at.count, at.head, batch.head_dim,
                                             shared.q);
    const int kv_head = batch.kv_head(at.head);
    for (int first = batch.first_key(at.first) / tile * tile; first < keys; first += tile) {
        load_rows<Layout::as_keys, width, tile>(m.k, at.other_row + first, keys - first, kv_head,
                                                batch.head_dim, shared.k);
        load_rows<Layout::as_keys, width, tile>(m.v, at.other_row + first, keys - first, kv_head,
                                                batch.head_dim, shared.v);
        __syncthreads();
        float scores[side][side], factors[side][side];
        multiply_rows<width, tile>(shared.q, shared.k, scores);
        for (int i = 0; i < side; ++i)
            for (int j = 0; j < side; ++j)
                if (!visible(batch, at.first + thread_down() * side + i,
                             first + thread_across() * side + j, keys))
                    scores[i][j] = -INFINITY;
        softmax.add(scores, batch.scale_of_2());
        plain_factors<tile>(batch, at, key, at.first, first, factors);
        for (int i = 0; i < side; ++i)
            for (int j = 0; j < side; ++j) scores[i][j] *= factors[i][j];
        store_scores<tile>(scores, shared.p);
        __syncthreads();
        add_product<Scores::as_they_are, width, tile>(shared.p, shared.v, softmax.out);
        __syncthreads();
    }
    finish(batch, m, at, softmax);
}

template <int width, int tile, class T>
void run(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m) {
    launch(ctx, forward_kernel<width, tile, T>,
           {tile_blocks(batch, batch.queries, tile), plain_threads, sizeof(Shared<width, tile>)},
           batch, m);
}

}  // namespace

template <class T>
void plain_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m) {
    by_width<Shared>(ctx, batch.head_dim,
                     [&]<int width, int tile>() { run<width, tile>(ctx, batch, m); });
}

template void plain_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<float>&);
template void plain_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<bf16>&);
template void plain_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<fp16>&);

}  // namespace lockstep::kernels::cuda
