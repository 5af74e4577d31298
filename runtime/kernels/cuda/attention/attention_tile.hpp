// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "runtime/kernels/cuda/attention/attention_batch.hpp"
#include "runtime/kernels/cuda/primitives/index.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"

// A ragged batch is cut into tiles: a block of threads processes one head of `tile` queries (or
// keys) of a sequence, and loops over the keys (or queries) of that sequence.
namespace lockstep::kernels::cuda {

// Positions [first, first + count) of one side of a sequence. Position 0 is row `row`. The other
// side has `others` positions from row `other_row` on.
struct AttentionTile {
    std::int64_t row, other_row;
    int first, count, others;
    int sequence, head;

    __device__ __forceinline__ std::int64_t first_row() const { return row + first; }
};

// Sets a head's columns of rows [first, first + tile) to zero, up to row `end`.
template <int tile, class T>
__device__ __forceinline__ void clear_rows(CudaMatrix<T> m, std::int64_t first, std::int64_t end,
                                           int head, int head_dim) {
    for (int i = static_cast<int>(threadIdx.x); i < tile * head_dim;
         i += static_cast<int>(blockDim.x)) {
        const std::int64_t row = first + i / head_dim;
        if (row < end) m.data[row * m.stride + head * head_dim + i % head_dim] = T{};
    }
}

// Finds the block's tile of that side. Returns false if the block has none. Blocks after the last
// sequence then fill their share of the filler with zeros. Tiles with the most work under a causal
// mask come first.
template <Side side, int tile, class... Matrices>
__device__ __forceinline__ bool find_tile(const AttentionBatch& batch, AttentionTile& found,
                                          Matrices... to_clear) {
    const RaggedSide& own = side == Side::queries ? batch.queries : batch.keys;
    const RaggedSide& other = side == Side::queries ? batch.keys : batch.queries;
    const int tiles = tiles_of(own, tile), head = batch.first_head + static_cast<int>(blockIdx.y);
    const TileOffset place =
        tile_place(blockIdx.x, tiles,
                   side == Side::queries ? TileOrder::last_to_first : TileOrder::first_to_last);
    const int begin = own.offsets[place.sequence];
    if (place.sequence == batch.sequences) {
        const std::int64_t from = begin + std::int64_t{place.tile} * tile;
        for (std::int64_t first = from; first < own.total; first += std::int64_t{tiles} * tile)
            (clear_rows<tile>(to_clear, first, own.total, head, batch.head_dim), ...);
        return false;
    }
    const int length = own.offsets[place.sequence + 1] - begin, first = place.tile * tile;
    if (first >= length) return false;
    const int other_begin = other.offsets[place.sequence];
    const int others = other.offsets[place.sequence + 1] - other_begin;
    const int count = length - first < tile ? length - first : tile;
    found = {begin, other_begin, first, count, others, place.sequence, head};
    return true;
}

// Returns the grid for tiles of that side. One additional sequence clears the filler.
inline dim3 tile_blocks(const AttentionBatch& batch, const RaggedSide& own, int tile) {
    const std::int64_t tiles = tiles_of(own, tile);
    return {blocks_for(tiles * (batch.sequences + 1), 1), static_cast<unsigned>(batch.heads)};
}

}  // namespace lockstep::kernels::cuda
