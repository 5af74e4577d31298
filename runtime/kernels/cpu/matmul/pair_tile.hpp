// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/view.hpp"
#include "runtime/kernels/into.hpp"

// The inner part of products of bf16 matrices by AVX-512's instruction that multiplies pairs. A
// *pair* is two elements that lie side by side and whose products are added to the same sum. A
// *panel* is 64 columns of a matrix, laid out as rows of pairs: row k has of each column the
// elements of the rows 2k and 2k + 1.
namespace lockstep::kernels::cpu {

// Returns whether the processor has the instruction and oneDNN may use it (ONEDNN_MAX_CPU_ISA). It
// is false with AMX, where oneDNN's products are faster.
bool has_pair_products() noexcept;

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

// Writes the panels of the matrix, one after another. Rows and columns that it lacks are zero.
void pack_panels(HostMatrix<const bf16> matrix, bf16* panels) noexcept;

// Both calculate a tile of c, of 1 to tile_rows rows and 1 to panel_columns columns, whose sums
// stay in registers: c = or += the product of a's rows and a panel b, over so many pairs.

// a's rows are the columns first_column, a multiple of tile_rows, and the next ones of a panel.
struct PanelTile {
    const bf16* a;
    std::int64_t first_column;
    const bf16* b;
    std::int64_t pairs;
};
void multiply_tile(const PanelTile& tile, HostMatrix<float> c, Into into) noexcept;

// a's rows are rows of a matrix, `stride` elements apart. c is rounded once, at the end.
struct RowTile {
    const bf16* a;
    std::int64_t stride;
    const bf16* b;
    std::int64_t pairs;
};
void multiply_tile(const RowTile& tile, HostMatrix<bf16> c, Into into) noexcept;

}  // namespace lockstep::kernels::cpu
