// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/attention/attention_mma_gradients.hpp"

// Calculates dQ = dS K from the gradients of scores that the kernel for keys has written. No two
// blocks add to the same query, so the order of the sums is fixed.
namespace lockstep::kernels::cuda {

namespace {

// Holds a tile of keys and its gradients in shared memory.
template <class T, int width>
struct KeyTile {
    static constexpr int scores = mma_tile * mma_tile;
    static constexpr int elements = mma_tile * width + scores;
    static_assert(ScoreGradients<T>::side == mma_tile);
    SharedRows<T, width> k;

    __device__ __forceinline__ T* gradients() const { return k.after(mma_tile).data; }

    __device__ __forceinline__ void begin_copy(const AttentionBatch& batch,
                                               const BackwardMatrices<T>& m,
                                               const ScoreGradients<T>& ds, const AttentionTile& at,
                                               int first_key, int keys) const {
        copy_rows<mma_tile>(k, m.k, at.other_row + first_key, keys - first_key,
                            batch.kv_head(at.head), batch.head_dim);
        const T* from =
            ds.tile(at.head - batch.first_head, at.sequence, at.other_row, first_key, at.first);
#pragma unroll
        for (int i = 0; i < scores; i += mma_threads * 8) {
            const int place = i + static_cast<int>(threadIdx.x) * 8;
            copy16_async(gradients() + place, from + place);
        }
    }
};

template <class T, int width>
__global__ void __launch_bounds__(mma_threads)
    queries_kernel(AttentionBatch batch, BackwardMatrices<T> m, ScoreGradients<T> ds) {
    using Tile = KeyTile<T, width>;
    AttentionTile at;
    if (!find_tile<Side::queries, mma_tile>(batch, at, m.dq)) return;
    const auto tile_of = [&](int stage) {
        return Tile{{dynamic_shared_memory<T>() + stage * Tile::elements}};
    };
    const int keys = visible_keys(batch, at), own = warp_number() * 16;
    if (keys > 0) tile_of(0).begin_copy(batch, m, ds, at, 0, keys);
    end_copy_group();
    float dq[1][width / 8][4] = {};
    for (int first = 0, stage = 0; first < keys; first += mma_tile, stage ^= 1) {
        wait_copies<0>();
        __syncthreads();  // the tile is complete, and no thread still reads the previous one
        if (first + mma_tile < keys)
            tile_of(stage ^ 1).begin_copy(batch, m, ds, at, first + mma_tile, keys);
        end_copy_group();
        const Tile tile = tile_of(stage);
#pragma unroll
        for (int part = 0; part < mma_tile / 16; ++part) {
            std::uint32_t gradients[1][4];
            load_gradients(tile.gradients(), own, part, gradients[0]);
            add_part(gradients, tile.k, part, dq);
        }
    }
    wait_copies<0>();
    __syncthreads();
    store_rows<1, T, width>(dq, tile_of(0).k, m.dq, at.first_row(), at.count, at.head,
                            batch.head_dim);
}

template <class T, int width>
void run(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
         const ScoreGradients<T>& ds) {
    const std::size_t bytes = sizeof(T) * 2 * KeyTile<T, width>::elements;
    launch(ctx, queries_kernel<T, width>,
           {tile_blocks(batch, batch.queries, mma_tile), mma_threads, bytes}, batch, m, ds);
}

}  // namespace

template <class T>
void mma_backward_queries(CudaContext& ctx, const AttentionBatch& batch,
                          const BackwardMatrices<T>& m, const ScoreGradients<T>& ds) {
    if (batch.head_dim <= 32) return run<T, 32>(ctx, batch, m, ds);
    if (batch.head_dim <= 64) return run<T, 64>(ctx, batch, m, ds);
    run<T, max_mma_head_dim>(ctx, batch, m, ds);
}

template void mma_backward_queries(CudaContext&, const AttentionBatch&,
                                   const BackwardMatrices<bf16>&, const ScoreGradients<bf16>&);
template void mma_backward_queries(CudaContext&, const AttentionBatch&,
                                   const BackwardMatrices<fp16>&, const ScoreGradients<fp16>&);

}  // namespace lockstep::kernels::cuda
