// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/view.hpp"
#include "runtime/kernels/cpu/avx2/float_tile.hpp"

// Factors of matrix products of floats, laid out as multiply_panel() reads them. Functions need
// has_instructions().
namespace lockstep::kernels::cpu::avx2 {

// A factor as it lies in memory. A product sums over its inner dimension: the rows of `lines` if
// the side is plain, their columns if it is transposed. In a * b with row-major matrices a is
// transposed and b is plain.
enum class Side : std::uint8_t { plain, transposed };
struct FloatFactor {
    HostMatrix<const float> lines;
    Side side;

    std::int64_t inner() const noexcept { return side == Side::plain ? lines.rows : lines.cols; }
    std::int64_t outer() const noexcept { return side == Side::plain ? lines.cols : lines.rows; }
    // Returns the part of so many elements of the inner and of the outer dimension.
    FloatFactor part(std::int64_t first_inner, std::int64_t inner_count, std::int64_t first_outer,
                     std::int64_t outer_count) const noexcept {
        if (side == Side::plain)
            return {lines.rows_from(first_inner, inner_count).columns(first_outer, outer_count),
                    side};
        return {lines.rows_from(first_outer, outer_count).columns(first_inner, inner_count), side};
    }
};

constexpr std::int64_t panels_of(std::int64_t columns) noexcept {
    return (columns + panel_columns - 1) / panel_columns;
}

// Writes the panels [inner, panel_columns] of a factor's outer elements, one after another and
// `panel_floats` apart, a multiple of 8 that is large enough. Columns that the last one lacks are
// zero. `panels` is 32-byte aligned.
void pack_panels(const FloatFactor& factor, float* panels, std::int64_t panel_floats) noexcept;

// Writes a matrix whose rows are the inner dimension as groups of tile_rows columns,
// [inner, tile_rows] each, one after another and `group_floats` apart, a multiple of 4 that is
// large enough. Columns that the last group lacks are zero. `groups` is 16-byte aligned.
void pack_groups(HostMatrix<const float> rows, float* groups, std::int64_t group_floats) noexcept;

}  // namespace lockstep::kernels::cpu::avx2
