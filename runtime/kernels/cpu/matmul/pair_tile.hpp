// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/view.hpp"
#include "runtime/kernels/into.hpp"

// The inner part of products of bf16 matrices by AVX-512's instruction that multiplies pairs. A
// *pair* is the elements 2k and 2k + 1 of the dimension that a product sums over, side by side in
// memory: the instruction multiplies two pairs and adds both products to one sum. A *panel* is 64
// columns of a matrix, laid out as rows of pairs: its row k has of each column the elements of the
// rows 2k and 2k + 1.
namespace lockstep::kernels::cpu {

// Returns whether products of pairs may be used: the processor has the instruction, oneDNN may use
// it too (DNNL_MAX_CPU_ISA), and there is no AMX, with which oneDNN is faster. Where it is false,
// the functions below end the process by an illegal instruction.
bool uses_pairs() noexcept;

constexpr std::int64_t panel_columns = 64, tile_rows = 4;

constexpr std::int64_t panels_of(std::int64_t columns) noexcept {
    return (columns + panel_columns - 1) / panel_columns;
}
constexpr std::int64_t pairs_of(std::int64_t rows) noexcept { return (rows + 1) / 2; }

// Returns the elements of a panel of so many rows.
constexpr std::int64_t panel_elements(std::int64_t rows) noexcept {
    return pairs_of(rows) * 2 * panel_columns;
}

// Returns whether so many columns fill their panels well: a tile takes as long with one column as
// with all.
constexpr bool fill_panels(std::int64_t columns) noexcept {
    return columns * 8 >= panels_of(columns) * panel_columns * 7;
}

// Writes the panels of the matrix, one after another: panels_of(cols) * panel_elements(rows)
// elements. Rows and columns that it lacks are zero.
void pack_panels(HostMatrix<const bf16> matrix, bf16* panels) noexcept;

// The two functions multiply_tile() calculate a tile of c, of 1 to tile_rows rows and 1 to
// panel_columns columns, whose sums stay in registers: c = or += the product of a's rows and a
// panel b, over so many pairs.

// a's rows are the columns first_column, a multiple of tile_rows, and the next ones of a panel.
struct PanelTile {
    const bf16* a;
    std::int64_t first_column;
    const bf16* b;
    std::int64_t pairs;
};
void multiply_tile(const PanelTile& tile, HostMatrix<float> c, Into into) noexcept;

// a's rows are rows of a matrix, `stride` elements apart, of which 2 * pairs elements are read. c
// is rounded once, at the end.
struct RowTile {
    const bf16* a;
    std::int64_t stride;
    const bf16* b;
    std::int64_t pairs;
};
void multiply_tile(const RowTile& tile, HostMatrix<bf16> c, Into into) noexcept;

}  // namespace lockstep::kernels::cpu
