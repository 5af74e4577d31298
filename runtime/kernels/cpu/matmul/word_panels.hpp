// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/view.hpp"

// Factors of matrix products by AVX-512, as word_tile.hpp multiplies them. A *word* is four bytes
// of a row or a column, along the dimension that a product sums over: one float, or a pair of bf16
// side by side, which one instruction multiplies by another pair and adds to a float. A *panel* is
// 64 columns of a matrix, laid out as rows of words: the row k of a panel of bf16 has of each
// column the elements of the rows 2k and 2k + 1.
namespace lockstep::kernels::cpu {

// Returns whether products of words of T may be used: the processor has AVX-512 with the
// instructions for bf16, for which all of this code is compiled, and oneDNN may use them too
// (DNNL_MAX_CPU_ISA). For bf16 there must be no AMX, with which oneDNN is faster. Where it is
// false, these functions end the process by an illegal instruction.
template <class T>
bool multiplies_words() noexcept;

constexpr std::int64_t panel_columns = 64;

template <class T>
inline constexpr std::int64_t word_elements = 4 / static_cast<std::int64_t>(sizeof(T));

constexpr std::int64_t panels_of(std::int64_t columns) noexcept {
    return (columns + panel_columns - 1) / panel_columns;
}
template <class T>
constexpr std::int64_t words_of(std::int64_t elements) noexcept {
    return (elements + word_elements<T> - 1) / word_elements<T>;
}

// Elements of a row of a panel.
template <class T>
inline constexpr std::int64_t panel_row = panel_columns* word_elements<T>;

// Returns the elements of a panel of so many rows of the matrix.
template <class T>
constexpr std::int64_t panel_elements(std::int64_t rows) noexcept {
    return words_of<T>(rows) * panel_row<T>;
}

// Returns whether so many columns fill their panels well: a tile takes as long as one whose columns
// are rounded up to a multiple of 16.
constexpr bool fill_panels(std::int64_t columns) noexcept {
    return columns * 8 >= panels_of(columns) * panel_columns * 7;
}

// Writes the panels of the matrix, one after another: panels_of(cols) * panel_elements(rows)
// elements. Rows and columns that it lacks are zero.
void pack_panels(HostMatrix<const bf16> matrix, bf16* panels) noexcept;
void pack_panels(HostMatrix<const float> matrix, float* panels) noexcept;

// Writes the panels of the transposed matrix: panels_of(rows) * panel_elements(cols) elements.
void pack_transposed(HostMatrix<const bf16> matrix, bf16* panels) noexcept;
void pack_transposed(HostMatrix<const float> matrix, float* panels) noexcept;

}  // namespace lockstep::kernels::cpu
