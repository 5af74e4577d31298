// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "runtime/kernels/cpu/attention/attention_tasks.hpp"
#include "runtime/kernels/cpu/matmul/word_tile.hpp"

// Attention by tiles of products (word_tile.hpp): scores stay in the caches, queries are multiplied
// where they lie, keys and values are packed once for each task, and a causal sequence multiplies
// hardly more than what it sees.
namespace lockstep::kernels::cpu {

// Returns whether a task is calculated by tiles: the processor multiplies words of T, a head's rows
// are whole words, there is no window, and oneDNN is not faster. In fp32 it is for narrow heads and
// few queries, because packing keys and values costs more than their products then.
template <class T>
bool suits_tiles(const AttentionShape& shape, int queries) noexcept {
    constexpr int least_width = 16, least_queries = 8;
    if (!multiplies_words<T>() || shape.head_dim % word_elements<T> != 0) return false;
    if (shape.window != 0) return false;
    return std::is_same_v<T, bf16> || (shape.head_dim >= least_width && queries >= least_queries);
}

// Returns the width of the next tile of so many columns: a multiple of 16, at most panel_columns.
constexpr int tile_columns(int columns) noexcept {
    return std::min(static_cast<int>(panel_columns), rows::round_up(columns));
}

// Rows of scores are so many elements apart: not a power of two, whose rows would share a few sets
// of a cache.
constexpr int score_stride = key_block + 32;

// Returns the columns of a head's panels, the empty ones of the last panel included.
constexpr std::size_t padded_columns(int head_dim) noexcept {
    return static_cast<std::size_t>(panels_of(head_dim) * panel_columns);
}

// These do the work of attention_forward() and attention_backward() for some tasks. Backward takes
// whole sequences as tasks, and writes the gradients of keys and values to `keys`.
template <class T>
void forward_by_tiles(CpuContext& ctx, const AttentionForward<T, HostSpace>& operands,
                      std::span<const AttentionTask> tasks, AttentionScratch& scratch);
template <class T, class G>
void backward_by_tiles(CpuContext& ctx, const AttentionBackward<T, HostSpace>& operands,
                       const KeyGradients<G>& keys, std::span<const AttentionTask> tasks,
                       AttentionScratch& scratch);

}  // namespace lockstep::kernels::cpu
