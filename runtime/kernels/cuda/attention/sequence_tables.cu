// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/attention/attention_tile.hpp"
#include "runtime/kernels/cuda/attention/sequence_tables.hpp"

namespace lockstep::kernels::cuda {

namespace {

constexpr int threads = 128;

__global__ void __launch_bounds__(threads)
    tables_kernel(AttentionBatch batch, SequenceTables tables) {
    const int i = static_cast<int>(blockIdx.x * threads + threadIdx.x);
    if (i > tables.padded) return;
    const int real = i < batch.sequences ? i : batch.sequences;
    const int next = i < batch.sequences ? i + 1 : batch.sequences;
    const std::int32_t *q = batch.queries.offsets, *k = batch.keys.offsets;
    for (int t = 0; t < tables.tensors; ++t)
        tables.offsets[t * (tables.padded + 1) + i] =
            (tables.sides[t] == Side::queries ? q[real] : k[real]) * tables.strides[t];
    if (i == tables.padded) return;
    tables.q_lengths[i] = q[next] - q[real];
    tables.k_lengths[i] = k[next] - k[real];
}

template <Side side, class T>
__global__ void __launch_bounds__(threads) clear_kernel(AttentionBatch batch, CudaMatrix<T> m) {
    constexpr int tile = 64;
    AttentionTile at;
    if (!find_tile<side, tile>(batch, at, m) || at.others > 0) return;
    clear_rows<tile>(m, at.first_row(), at.first_row() + at.count, at.head, batch.head_dim);
}

}  // namespace

void fill_sequence_tables(CudaContext& ctx, const AttentionBatch& batch,
                          const SequenceTables& tables) {
    launch(ctx, tables_kernel, {blocks_for(tables.padded + 1, threads), threads}, batch, tables);
}

template <class T>
void clear_unattended(CudaContext& ctx, const AttentionBatch& batch, Side side, CudaMatrix<T> m) {
    const RaggedSide& own = side == Side::queries ? batch.queries : batch.keys;
    launch(ctx,
           side == Side::queries ? clear_kernel<Side::queries, T> : clear_kernel<Side::keys, T>,
           {tile_blocks(batch, own, 64), threads}, batch, m);
}

template <class T>
void clear_unattended(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m) {
    clear_unattended(ctx, batch, Side::queries, m.out);
    // Backward's tiles also read rows after the last sequence; a NaN there would spread.
    AttentionBatch one_column = batch;
    one_column.head_dim = 1;
    clear_unattended(ctx, one_column, Side::queries,
                     CudaMatrix<float>(m.log_sum_exp, batch.queries.total, batch.heads));
}

template <class T>
void clear_unattended(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m) {
    clear_unattended(ctx, batch, Side::queries, m.dq);
    clear_unattended(ctx, batch, Side::keys, m.dk);
    clear_unattended(ctx, batch, Side::keys, m.dv);
}

template void clear_unattended(CudaContext&, const AttentionBatch&, Side, CudaMatrix<float>);
template void clear_unattended(CudaContext&, const AttentionBatch&, Side, CudaMatrix<bf16>);
template void clear_unattended(CudaContext&, const AttentionBatch&, Side, CudaMatrix<fp16>);
template void clear_unattended(CudaContext&, const AttentionBatch&, const ForwardMatrices<bf16>&);
template void clear_unattended(CudaContext&, const AttentionBatch&, const ForwardMatrices<fp16>&);
template void clear_unattended(CudaContext&, const AttentionBatch&, const BackwardMatrices<bf16>&);
template void clear_unattended(CudaContext&, const AttentionBatch&, const BackwardMatrices<fp16>&);

}  // namespace lockstep::kernels::cuda
