// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/avx2/float_panels.hpp"

#include <immintrin.h>

#include <algorithm>

namespace lockstep::kernels::cpu::avx2 {

namespace {

// A square of 8 x 8 floats, one vector a row.
struct Square {
    __m256 row[lanes];
};

struct Strip {
    __m256 row[4];
};

// Returns the columns of the strip of the rows a to d: row i has column i in its first half and
// column i + 4 in its second.
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline Strip transposed_halves(
    __m256 a, __m256 b, __m256 c, __m256 d) noexcept {
    const __m256 ab_low = _mm256_unpacklo_ps(a, b), ab_high = _mm256_unpackhi_ps(a, b);
    const __m256 cd_low = _mm256_unpacklo_ps(c, d), cd_high = _mm256_unpackhi_ps(c, d);
    return {{_mm256_shuffle_ps(ab_low, cd_low, 0x44), _mm256_shuffle_ps(ab_low, cd_low, 0xee),
             _mm256_shuffle_ps(ab_high, cd_high, 0x44), _mm256_shuffle_ps(ab_high, cd_high, 0xee)}};
}

// Returns the square whose rows are the columns of s.
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline Square transposed(
    const Square& s) noexcept {
    const Strip low = transposed_halves(s.row[0], s.row[1], s.row[2], s.row[3]);
    const Strip high = transposed_halves(s.row[4], s.row[5], s.row[6], s.row[7]);
    Square t;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        t.row[i] = _mm256_permute2f128_ps(low.row[i], high.row[i], 0x20);
        t.row[i + 4] = _mm256_permute2f128_ps(low.row[i], high.row[i], 0x31);
    }
    return t;
}

// Writes up to 8 lines, each as a column of a panel.
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void pack_columns(
    HostMatrix<const float> lines, float* panel) noexcept {
    std::int64_t k = 0;
    if (lines.rows == lanes)
        for (; k + lanes <= lines.cols; k += lanes) {
            Square square;
#pragma GCC unroll 8
            for (int i = 0; i < lanes; ++i)
                square.row[i] = _mm256_loadu_ps(lines.data + i * lines.stride + k);
            square = transposed(square);
#pragma GCC unroll 8
            for (int i = 0; i < lanes; ++i)
                _mm256_store_ps(panel + (k + i) * panel_columns, square.row[i]);
        }
    for (; k < lines.cols; ++k)
        for (std::int64_t i = 0; i < lanes; ++i)
            panel[k * panel_columns + i] = i < lines.rows ? lines.data[i * lines.stride + k] : 0.0f;
}

[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void pack_lines_as_panels(
    HostMatrix<const float> lines, float* panels, std::int64_t panel_floats) noexcept {
    const std::int64_t columns = panels_of(lines.rows) * panel_columns;
    for (std::int64_t j = 0; j < columns; j += lanes) {
        const std::int64_t count = std::clamp<std::int64_t>(lines.rows - j, 0, lanes);
        pack_columns(lines.rows_from(count == 0 ? 0 : j, count),
                     panels + j / panel_columns * panel_floats + j % panel_columns);
    }
}

// Reads row by row, because rows that are a power of two apart evict each other from the caches.
[[gnu::target("arch=x86-64-v3"), gnu::always_inline]] inline void pack_rows_as_panels(
    HostMatrix<const float> rows, float* panels, std::int64_t panel_floats) noexcept {
    for (std::int64_t k = 0; k < rows.rows; ++k, panels += panel_columns) {
        const float* const row = rows.data + k * rows.stride;
        float* to = panels;
        std::int64_t j = 0;
        for (; j + panel_columns <= rows.cols; j += panel_columns, to += panel_floats)
#pragma GCC unroll 3
            for (std::int64_t v = 0; v < panel_columns; v += lanes)
                _mm256_store_ps(to + v, _mm256_loadu_ps(row + j + v));
        if (j == rows.cols) continue;
        std::fill(std::copy(row + j, row + rows.cols, to), to + panel_columns, 0.0f);
    }
}

}  // namespace

[[gnu::target("arch=x86-64-v3")]] void pack_panels(const FloatFactor& factor, float* panels,
                                                   std::int64_t panel_floats) noexcept {
    if (factor.side == Side::plain) return pack_rows_as_panels(factor.lines, panels, panel_floats);
    pack_lines_as_panels(factor.lines, panels, panel_floats);
}

[[gnu::target("arch=x86-64-v3")]] void pack_groups(HostMatrix<const float> rows, float* groups,
                                                   std::int64_t group_floats) noexcept {
    for (std::int64_t k = 0; k < rows.rows; ++k) {
        const float* const row = rows.data + k * rows.stride;
        float* to = groups + k * tile_rows;
        std::int64_t i = 0;
        for (; i + tile_rows <= rows.cols; i += tile_rows, to += group_floats)
            _mm_store_ps(to, _mm_loadu_ps(row + i));
        if (i == rows.cols) continue;
        std::fill(std::copy(row + i, row + rows.cols, to), to + tile_rows, 0.0f);
    }
}

}  // namespace lockstep::kernels::cpu::avx2
