// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/view.hpp"
#include "runtime/kernels/cpu/matmul/word_panels.hpp"
#include "runtime/kernels/into.hpp"

// The inner part of matrix products by AVX-512, of factors that word_panels.hpp describes.
namespace lockstep::kernels::cpu {

// Returns the most rows of a tile with so many columns. tile_rows is that of whole panels.
constexpr std::int64_t rows_of_tile(std::int64_t columns) noexcept { return columns > 32 ? 4 : 8; }
constexpr std::int64_t tile_rows = rows_of_tile(panel_columns);

// Returns how many tiles a matrix has, all of its columns in panels.
constexpr std::int64_t tiles_of(std::int64_t rows, std::int64_t columns) noexcept {
    const auto in_panels = [rows](std::int64_t panels, std::int64_t step) {
        return panels * ((rows + step - 1) / step);
    };
    const std::int64_t last = columns % panel_columns;
    return in_panels(columns / panel_columns, tile_rows) +
           (last > 0 ? in_panels(1, rows_of_tile(last)) : 0);
}

// The functions multiply_tile() calculate a tile c [m, n], of 1 to rows_of_tile(n) rows and 1 to
// panel_columns columns, whose sums stay in registers: c = or += a b. Here a is [m, words *
// word_elements], and b the first n columns of a panel of so many words. There may be no words.
// bf16 results are rounded once, at the end.

// a's rows are the columns of a panel from first_column on, a multiple of rows_of_tile(n). So many
// columns are read, even if m is less.
template <class T>
struct PanelFactors {
    const T* a;
    std::int64_t first_column;
    const T* b;
    std::int64_t words;
};
void multiply_tile(const PanelFactors<bf16>& factors, HostMatrix<float> c, Into into) noexcept;
void multiply_tile(const PanelFactors<bf16>& factors, HostMatrix<bf16> c, Into into) noexcept;
void multiply_tile(const PanelFactors<float>& factors, HostMatrix<float> c, Into into) noexcept;

// a's rows are m rows of a matrix, `stride` elements apart, of which whole words are read.
template <class T>
struct RowFactors {
    const T* a;
    std::int64_t stride;
    const T* b;
    std::int64_t words;
};
void multiply_tile(const RowFactors<bf16>& factors, HostMatrix<float> c, Into into) noexcept;
void multiply_tile(const RowFactors<bf16>& factors, HostMatrix<bf16> c, Into into) noexcept;
void multiply_tile(const RowFactors<float>& factors, HostMatrix<float> c, Into into) noexcept;

// What a linear layer does besides its product. NaN stays NaN.
enum class Rectifier { none, relu };
struct LayerEnd {
    const bf16* bias;  // of the tile's columns, rounded up to a multiple of 16; null: none
    Rectifier rectifier;
};

// Calculates a tile of a linear layer: c = rectifier(bias + a b).
void multiply_layer_tile(const RowFactors<bf16>& factors, const LayerEnd& end,
                         HostMatrix<bf16> c) noexcept;

}  // namespace lockstep::kernels::cpu
