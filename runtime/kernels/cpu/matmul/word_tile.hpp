// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/view.hpp"
#include "runtime/kernels/into.hpp"

// The inner part of matrix products by AVX-512. A *word* is four bytes of a row or a column, along
// the dimension that a product sums over: one float, or a pair of bf16 side by side, which one
// instruction multiplies by another pair and adds to a float. A *panel* is 64 columns of a matrix,
// laid out as rows of words: the row k of a panel of bf16 has of each column the elements of the
// rows 2k and 2k + 1.
namespace lockstep::kernels::cpu {

// Returns whether products of words of T may be used: the processor has the instructions, and
// oneDNN may use them too (DNNL_MAX_CPU_ISA). For bf16 there must be no AMX, with which oneDNN is
// faster. Where it is false, the functions below end the process by an illegal instruction.
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

// Returns the elements of a panel of so many rows of the matrix.
template <class T>
constexpr std::int64_t panel_elements(std::int64_t rows) noexcept {
    return words_of<T>(rows) * word_elements<T> * panel_columns;
}

// Returns whether so many columns fill their panels well: a tile takes as long with one column as
// with all.
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

// Returns the most rows of a tile with so many columns. tile_rows is that of whole panels.
constexpr std::int64_t rows_of_tile(std::int64_t columns) noexcept { return columns > 32 ? 4 : 8; }
constexpr std::int64_t tile_rows = rows_of_tile(panel_columns);

// The functions multiply_tile() calculate a tile of c, of 1 to rows_of_tile(cols) rows and 1 to
// panel_columns columns, whose sums stay in registers: c = or += the product of a's rows and a
// panel b, over so many words. bf16 results are rounded once, at the end.

// a's rows are the columns first_column, a multiple of rows_of_tile(c.cols), and the next ones of a
// panel.
template <class T>
struct PanelTile {
    const T* a;
    std::int64_t first_column;
    const T* b;
    std::int64_t words;
};
void multiply_tile(const PanelTile<bf16>& tile, HostMatrix<float> c, Into into) noexcept;
void multiply_tile(const PanelTile<bf16>& tile, HostMatrix<bf16> c, Into into) noexcept;
void multiply_tile(const PanelTile<float>& tile, HostMatrix<float> c, Into into) noexcept;

// a's rows are rows of a matrix, `stride` elements apart, of which whole words are read.
template <class T>
struct RowTile {
    const T* a;
    std::int64_t stride;
    const T* b;
    std::int64_t words;
};
void multiply_tile(const RowTile<bf16>& tile, HostMatrix<float> c, Into into) noexcept;
void multiply_tile(const RowTile<bf16>& tile, HostMatrix<bf16> c, Into into) noexcept;
void multiply_tile(const RowTile<float>& tile, HostMatrix<float> c, Into into) noexcept;

}  // namespace lockstep::kernels::cpu
