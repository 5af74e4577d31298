// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_plain.hpp"

// Let P = exp(S - lse), M the dropout factors and delta = rowsum(dO * O). Then
// dV = (P M)^T dO;  dS = P (M dO V^T - delta) scale;  dQ = dS K;  dK = dS^T Q.
// One kernel goes by queries and one by keys. Thus one block sums each gradient in a fixed order,
// at the price of 7 products instead of 5.
namespace lockstep::kernels::cuda {

namespace {

template <int width, int tile>
struct Shared {
    using Shape = PlainShape<width, tile>;
    alignas(16) typename Shape::Rows q, d_out, k, v;
    alignas(16) typename Shape::Scores scores;
    float log_sum_exp[tile], delta[tile];
};

// Loads `queries` rows from `first` on. The rest of the tile becomes zeros.
template <int width, int tile, class T>
__device__ __forceinline__ void load_queries(const AttentionBatch& batch,
                                             const BackwardMatrices<T>& m, int head,
                                             std::int64_t first, int queries,
                                             Shared<width, tile>& shared) {
    load_rows<Layout::in_order, width, tile>(m.q, first, queries, head, batch.head_dim, shared.q);
    load_rows<Layout::in_order, width, tile>(m.d_out, first, queries, head, batch.head_dim,
                                             shared.d_out);
    const auto i = static_cast<int>(threadIdx.x);
    if (i >= tile) return;
    shared.log_sum_exp[i] = i < queries ? m.log_sum_exp.at(head, first + i) : 0.0f;
    shared.delta[i] = i < queries ? m.delta.at(head, first + i) : 0.0f;
}

template <int width, int tile, class T>
__device__ __forceinline__ void load_keys(const AttentionBatch& batch, const BackwardMatrices<T>& m,
                                          int head, std::int64_t first, int keys,
                                          Shared<width, tile>& shared) {
    const int kv_head = batch.kv_head(head);
    load_rows<Layout::as_keys, width, tile>(m.k, first, keys, kv_head, batch.head_dim, shared.k);
    load_rows<Layout::as_keys, width, tile>(m.v, first, keys, kv_head, batch.head_dim, shared.v);
}

// A tile of queries and a tile of keys: their first positions, and the ends of the queries and of
// the keys.
struct Pair {
    int first_query, first_key, queries, keys;
};

// Calculates this thread's part of P M and of dS.
template <int width, int tile>
__device__ __forceinline__ void gradients_of_scores(const AttentionBatch& batch,
                                                    const AttentionTile& at, const Pair& pair,
                                                    std::uint64_t key,
                                                    const Shared<width, tile>& shared,
                                                    float (&p)[tile / 16][tile / 16],
                                                    float (&ds)[tile / 16][tile / 16]) {
    constexpr int side = tile / 16;
    float factors[side][side];
    multiply_rows<width, tile>(shared.q, shared.k, p);
    multiply_rows<width, tile>(shared.d_out, shared.v, ds);
    plain_factors<tile>(batch, at, key, pair.first_query, pair.first_key, factors);
    for (int i = 0; i < side; ++i) {
        const int row = thread_down() * side + i, query = pair.first_query + row;
        const float largest = shared.log_sum_exp[row] * AttentionBatch::log2_e;
        for (int j = 0; j < side; ++j) {
            const int column = pair.first_key + thread_across() * side + j;
            const bool counts = query < pair.queries && visible(batch, query, column, pair.keys);
            const float probability = counts ? exp2f(p[i][j] * batch.scale_of_2() - largest) : 0.0f;
            ds[i][j] = probability * (ds[i][j] * factors[i][j] - shared.delta[row]) * batch.scale;
            p[i][j] = probability * factors[i][j];
        }
    }
}

template <int width, int tile, class T>
__global__ void __launch_bounds__(plain_threads, 1)
    queries_kernel(AttentionBatch batch, BackwardMatrices<T> m) {
    constexpr int side = tile / 16;
    AttentionTile at;
    if (!find_tile<Side::queries, tile>(batch, at, m.dq)) return;
    auto& shared = *dynamic_shared_memory<Shared<width, tile>>();
    const std::uint64_t key = batch.dropout.state == nullptr ? 0 : mask_key(batch.dropout);
    const int keys =
        batch.mask == kernels::Mask::none ? at.others : std::min(at.others, at.first + at.count);
    float dq[side][width / 64][4] = {};
    load_queries<width, tile>(batch, m, at.head, at.first_row(), at.count, shared);
    for (int first = batch.first_key(at.first) / tile * tile; first < keys; first += tile) {
        load_keys<width, tile>(batch, m, at.head, at.other_row + first, keys - first, shared);
        __syncthreads();
        float p[side][side], ds[side][side];
        gradients_of_scores<width, tile>(batch, at, {at.first, first, at.first + at.count, keys},
                                         key, shared, p, ds);
        store_scores<tile>(ds, shared.scores);
        __syncthreads();
        add_product<Scores::as_they_are, width, tile>(shared.scores, shared.k, dq);
        __syncthreads();
    }
    store_rows<Layout::in_order, width, tile>(dq, m.dq, at.first_row(), at.count, at.head,
                                              batch.head_dim);
}

template <int width, int tile, class T>
__global__ void __launch_bounds__(plain_threads, 1)
    keys_kernel(AttentionBatch batch, BackwardMatrices<T> m) {
    constexpr int side = tile / 16;
    AttentionTile at;
    if (!find_tile<Side::keys, tile>(batch, at, m.dk, m.dv)) return;
    auto& shared = *dynamic_shared_memory<Shared<width, tile>>();
    const std::uint64_t key = batch.dropout.state == nullptr ? 0 : mask_key(batch.dropout);
    float dk[side][width / 64][4] = {}, dv[side][width / 64][4] = {};
    load_keys<width, tile>(batch, m, at.head, at.first_row(), at.count, shared);
    const int end = batch.end_of_queries(at.first + at.count, at.others);
    for (int first = batch.mask == kernels::Mask::none ? 0 : at.first; first < end; first += tile) {
        load_queries<width, tile>(batch, m, at.head, at.other_row + first, at.others - first,
                                  shared);
        __syncthreads();
        float p[side][side], ds[side][side];
        gradients_of_scores<width, tile>(
            batch, at, {first, at.first, at.others, at.first + at.count}, key, shared, p, ds);
        store_scores<tile>(p, shared.scores);
        __syncthreads();
        add_product<Scores::transposed, width, tile>(shared.scores, shared.d_out, dv);
        __syncthreads();
        store_scores<tile>(ds, shared.scores);
        __syncthreads();
        add_product<Scores::transposed, width, tile>(shared.scores, shared.q, dk);
        __syncthreads();
    }
    store_rows<Layout::as_keys, width, tile>(dk, m.dk, at.first_row(), at.count, at.head,
                                             batch.head_dim);
    store_rows<Layout::as_keys, width, tile>(dv, m.dv, at.first_row(), at.count, at.head,
                                             batch.head_dim);
}

template <int width, int tile, class T>
void run(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m) {
    constexpr std::size_t bytes = sizeof(Shared<width, tile>);
    launch(ctx, queries_kernel<width, tile, T>,
           {tile_blocks(batch, batch.queries, tile), plain_threads, bytes}, batch, m);
    launch(ctx, keys_kernel<width, tile, T>,
           {tile_blocks(batch, batch.keys, tile), plain_threads, bytes}, batch, m);
}

}  // namespace

template <class T>
void plain_backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m) {
    by_width<Shared>(ctx, batch.head_dim,
                     [&]<int width, int tile>() { run<width, tile>(ctx, batch, m); });
}

template void plain_backward(CudaContext&, const AttentionBatch&, const BackwardMatrices<float>&);
template void plain_backward(CudaContext&, const AttentionBatch&, const BackwardMatrices<bf16>&);
template void plain_backward(CudaContext&, const AttentionBatch&, const BackwardMatrices<fp16>&);

}  // namespace lockstep::kernels::cuda
