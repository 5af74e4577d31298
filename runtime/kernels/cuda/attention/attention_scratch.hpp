// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

// These functions give the scratch memory that Lockstep's own backward of attention takes from a
// context. The plan of a run calls them without a GPU.
namespace lockstep::kernels::cuda {

// Tensor cores support 16-bit types and a head_dim that is a multiple of 8, up to 128.
constexpr int max_mma_head_dim = 128;
constexpr bool mma_takes_head(std::int64_t head_dim) noexcept {
    return head_dim % 8 == 0 && head_dim <= max_mma_head_dim;
}

// Gradients of scores are kept in tiles of 64 keys by 64 queries.
constexpr int score_tile = 64;
// The default memory for gradients of scores: as many heads are computed at once as fit, at least
// one.
constexpr std::int64_t usual_score_bytes = std::int64_t{512} << 20;

struct BackwardShape {
    std::int64_t heads, query_rows, key_rows, sequences, longest_queries;
};

constexpr std::int64_t whole_lines(std::int64_t bytes) noexcept {
    constexpr std::int64_t line = 256;
    return (bytes + line - 1) / line * line;
}
// delta has one float for each row and head.
constexpr std::int64_t delta_bytes(const BackwardShape& shape) noexcept {
    return whole_lines(shape.heads * shape.query_rows * 4);
}
// Each sequence begins a new tile.
constexpr std::int64_t score_key_tiles(const BackwardShape& shape) noexcept {
    return shape.key_rows / score_tile + shape.sequences;
}
constexpr std::int64_t score_query_tiles(const BackwardShape& shape) noexcept {
    return (shape.longest_queries + score_tile - 1) / score_tile;
}
// The gradients have 16 bits.
constexpr std::int64_t score_bytes_of_head(const BackwardShape& shape) noexcept {
    return score_key_tiles(shape) * score_query_tiles(shape) * score_tile * score_tile * 2;
}
// Where heads share keys, the gradients of keys and values of each head wait until they are summed.
constexpr std::int64_t key_gradient_bytes(const BackwardShape& shape, std::int64_t head_dim,
                                          std::int64_t element_bytes) noexcept {
    return whole_lines(2 * shape.heads * shape.key_rows * head_dim * element_bytes);
}
constexpr std::int64_t heads_together(const BackwardShape& shape, std::int64_t max_bytes) noexcept {
    const std::int64_t fitting = max_bytes / std::max<std::int64_t>(score_bytes_of_head(shape), 1);
    return std::clamp<std::int64_t>(fitting, 1, std::max<std::int64_t>(shape.heads, 1));
}

}  // namespace lockstep::kernels::cuda
