// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/kernels/cpu/matmul/word_tile.hpp"

// The parts of attention by tiles that are no products. They need multiplies_words<float>().
// `columns` is a multiple of 16, also where a query sees fewer.
namespace lockstep::kernels::cpu {

// Returns the maximum of the first n elements, -infinity without any. Elements are read up to the
// next multiple of 16. With NaN among them, the result is any of the elements.
float maximum_of(const float* x, int n) noexcept;

// The scores of one query.
struct ScoreRow {
    const float* scores;
    int visible, columns;  // the query sees the first `visible` keys
    float scale, shift;
    const float* factors;  // of dropout; null: all are one
};

// Writes exp(score * scale - shift), times the factors of dropout, and zero for keys that the query
// does not see. Returns the sum before dropout. `to` may be `scores`.
float write_exponentials(const ScoreRow& row, bf16* to) noexcept;
float write_exponentials(const ScoreRow& row, float* to) noexcept;

// Returns the sum of the products of the first n elements.
float dot_of(const bf16* x, const bf16* y, std::int64_t n) noexcept;
float dot_of(const float* x, const float* y, std::int64_t n) noexcept;

// A tile of scores in backward: up to 8 queries and 16, 32, 48 or 64 keys.
struct SoftmaxTile {
    static constexpr int most_rows = 8;
    int rows, columns;
    // Rows are panel_columns floats apart. `p` holds the products of queries and keys and becomes
    // the probabilities times the factors of dropout; `ds` holds the products of d_out and values
    // and becomes the gradients of the scores.
    float *p, *ds;
    const float* factors;    // of dropout; null: all are one
    int visible[most_rows];  // the first keys that each query sees; none if it is 0 or less
    const float *log_sum_exp, *delta;  // of the tile's queries
    float scale;
};

// Calculates the tile's probabilities and gradients.
void softmax_backward_tile(const SoftmaxTile& tile) noexcept;

// Writes a tile's rows as words: row k of `panel` gets the rows of the tile that word k contains. A
// row that the last word lacks is zero.
void write_words(const float* tile, int rows, int columns, bf16* panel) noexcept;
void write_words(const float* tile, int rows, int columns, float* panel) noexcept;

// Writes a tile's rows, `stride` elements apart.
void write_rows(const float* tile, int rows, int columns, bf16* to, std::int64_t stride) noexcept;
void write_rows(const float* tile, int rows, int columns, float* to, std::int64_t stride) noexcept;

}  // namespace lockstep::kernels::cpu
