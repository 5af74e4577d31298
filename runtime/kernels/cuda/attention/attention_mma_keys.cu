// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_mma_gradients.hpp"

// Calculates dV = (P M)^T dO and dK = dS^T Q with P = exp(S - lse) and dS = P (M dO V^T - delta)
// scale; M are dropout's factors. The scores are calculated transposed, S^T = K Q^T, so that they
// also stay in registers for the next product. dS is kept for dQ: to calculate it again would take
// two products and all exponentials.
namespace lockstep::kernels::cuda {

namespace {

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
    const int kv_head = batch.kv_head(head);
    copy_rows<mma_tile>(k, m.k, at.first_row(), at.count, kv_head, batch.head_dim);
    copy_rows<mma_tile>(v, m.v, at.first_row(), at.count, kv_head, batch.head_dim);
    if (first < at.others) {
        tile_of(0).begin_copy(batch, m, at, first);
        tile_of(0).store_shift(tile_of(0).load_shift(batch, m, at, first));
    }
    end_copy_group();
    const HeadMask<masking> mask(batch, at);
    float dk[1][width / 8][4] = {}, dv[1][width / 8][4] = {};
    for (int stage = 0; first < at.others; first += queries, stage ^= 1) {
        wait_copies<0>();
        __syncthreads();  // the tile is complete, and no thread still reads the previous one
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
