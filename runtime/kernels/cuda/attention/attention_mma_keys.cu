// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "instructions/arithmetic.hpp"
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_mma_shape.hpp"

// dV = (P M)^T dO and dK = dS^T Q with P = exp(S - lse) and dS = P (M dO V^T - delta) scale; M are
// dropout's factors. The scores are made transposed, S^T = K Q^T, so that they too go on from
// registers. dS is kept for dQ: to make it again would take two products and all exponentials.
namespace lockstep::kernels::cuda {

namespace {

// Queries that are taken at once: fewer where the two sums fill the registers.
template <int width>
constexpr int query_tile = width > 64 ? 32 : 64;

// A tile of queries in shared memory, and what its scores are shifted by: log-sum-exp in powers of
// 2, infinite past the last query so that nothing gets a probability, and delta scaled.
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
    // One shift for each of the first 2 * queries threads, to be stored later.
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

// From S^T and V dO^T to (P M)^T and dS^T in their places.
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

// The warp's keys by the tile's queries from first_query on; zeros for keys past the last one.
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

template <class T, int width, Masking masking>
__global__ void __launch_bounds__(mma_threads, width > 32 ? 2 : 3)
    keys_kernel(AttentionBatch batch, BackwardMatrices<T> m, ScoreGradients<T> gradients) {
    constexpr int queries = query_tile<width>;
    AttentionTile at;
    if (!find_tile<Side::keys, mma_tile>(batch, at, m.dk, m.dv)) return;
    const SharedRows<T, width> k{dynamic_shared_memory<T>()}, v = k.after(mma_tile);
    auto* shifts = reinterpret_cast<float*>(k.after(2 * mma_tile + 4 * queries).data);
    const auto tile_of = [&](int stage) {
        return QueryTile<T, width>{k.after(2 * mma_tile + stage * 2 * queries),
                                   shifts + stage * 2 * queries};
    };
    const int own = warp_number() * 16, head = at.head;
    int first = batch.mask == kernels::Mask::none ? 0 : at.first;
    copy_rows<mma_tile>(k, m.k, at.first_row(), at.count, head, batch.head_dim);
    copy_rows<mma_tile>(v, m.v, at.first_row(), at.count, head, batch.head_dim);
    if (first < at.others) {
        tile_of(0).begin_copy(batch, m, at, first);
        tile_of(0).store_shift(tile_of(0).load_shift(batch, m, at, first));
    }
    end_copy_group();
    const HeadMask<masking> mask(batch, at);
    float dk[1][width / 8][4] = {}, dv[1][width / 8][4] = {};
    for (int stage = 0; first < at.others; first += queries, stage ^= 1) {
        wait_copies<0>();
        __syncthreads();  // this tile is there for all, and nobody reads the one before any more
        const QueryTile<T, width> tile = tile_of(stage);
        const QueryTile<T, width> next = tile_of(stage ^ 1);
        if (first + queries < at.others) next.begin_copy(batch, m, at, first + queries);
        end_copy_group();
        const float shift = next.load_shift(batch, m, at, first + queries);
        float p[1][queries / 8][4], ds[1][queries / 8][4];
        multiply_tiles<1, queries>(k, own, tile.q, p);
        multiply_tiles<1, queries>(v, own, tile.d_out(), ds);
        gradients_of_scores(batch, mask, at.first + own, first, tile, p, ds);
        add_product<1, queries>(p, tile.d_out(), dv);
        store_gradients(
            gradients.tile(head - batch.first_head, at.sequence, at.row, at.first, first), first,
            own, at.count, ds);
        add_product<1, queries>(ds, tile.q, dk);
        next.store_shift(shift);
    }
    wait_copies<0>();
    __syncthreads();
    scale_values(dv, batch.dropout.scale);
    store_rows<1, T, width>(dk, k, m.dk, at.first_row(), at.count, head, batch.head_dim);
    store_rows<1, T, width>(dv, v, m.dv, at.first_row(), at.count, head, batch.head_dim);
}

template <class T, int width>
void run(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
         const ScoreGradients<T>& ds) {
    constexpr int queries = query_tile<width>;
    const std::size_t bytes =
        sizeof(T) * width * (2 * mma_tile + 4 * queries) + sizeof(float) * 4 * queries;
    launch(ctx,
           batch.dropout.state == nullptr ? keys_kernel<T, width, Masking::off>
                                          : keys_kernel<T, width, Masking::on>,
           {tile_blocks(batch, batch.keys, mma_tile), mma_threads, bytes}, batch, m, ds);
}

}  // namespace

template <class T>
void mma_backward_keys(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
                       const ScoreGradients<T>& ds) {
    if (batch.head_dim <= 32) return run<T, 32>(ctx, batch, m, ds);
    if (batch.head_dim <= 64) return run<T, 64>(ctx, batch, m, ds);
    run<T, max_mma_head_dim>(ctx, batch, m, ds);
}

template void mma_backward_keys(CudaContext&, const AttentionBatch&, const BackwardMatrices<bf16>&,
                                const ScoreGradients<bf16>&);
template void mma_backward_keys(CudaContext&, const AttentionBatch&, const BackwardMatrices<fp16>&,
                                const ScoreGradients<fp16>&);

}  // namespace lockstep::kernels::cuda
