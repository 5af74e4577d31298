// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/matmul/word_panels.hpp"

#include <immintrin.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

#include "runtime/kernels/cpu/avx512/floats.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr int lanes = 16;  // words of a vector

template <class T>
constexpr std::int64_t vector_elements = lanes* word_elements<T>;

// Interleaves 32 columns of two rows.
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void interleave(const bf16* first,
                                                                             const bf16* second,
                                                                             bf16* to) noexcept {
    // Unpacking stays within 128 bits, so the quarters that it joins are first put side by side.
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    const __m512i a = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(first));
    const __m512i b = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(second));
    _mm512_storeu_si512(to, _mm512_unpacklo_epi16(a, b));
    _mm512_storeu_si512(to + vector_elements<bf16>, _mm512_unpackhi_epi16(a, b));
}

// Writes a row of pairs that lacks columns or, if `second` is null, the second row.
void interleave_incomplete(const bf16* first, const bf16* second, std::int64_t columns,
                           bf16* to) noexcept {
    for (std::int64_t j = 0; j < panel_columns; ++j) {
        to[2 * j] = j < columns ? first[j] : bf16();
        to[2 * j + 1] = j < columns && second != nullptr ? second[j] : bf16();
    }
}

// A square of 16 x 16 words, one vector a row.
struct Square {
    __m512i row[lanes];
};

// Transposes squares of 2 x 2 words, then of 4 x 4 words within quarters of vectors, and then the
// quarters.
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void transpose(Square& s) noexcept {
    Square t;
#pragma GCC unroll 16
    for (int i = 0; i < lanes; i += 2) {
        t.row[i] = _mm512_unpacklo_epi32(s.row[i], s.row[i + 1]);
        t.row[i + 1] = _mm512_unpackhi_epi32(s.row[i], s.row[i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes; i += 4) {
        s.row[i] = _mm512_unpacklo_epi64(t.row[i], t.row[i + 2]);
        s.row[i + 1] = _mm512_unpackhi_epi64(t.row[i], t.row[i + 2]);
        s.row[i + 2] = _mm512_unpacklo_epi64(t.row[i + 1], t.row[i + 3]);
        s.row[i + 3] = _mm512_unpackhi_epi64(t.row[i + 1], t.row[i + 3]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes / 4; ++i) {
        const __m512i a = s.row[i], b = s.row[i + 4], c = s.row[i + 8], d = s.row[i + 12];
        const __m512i ab_even = _mm512_shuffle_i32x4(a, b, 0x88);
        const __m512i ab_odd = _mm512_shuffle_i32x4(a, b, 0xdd);
        const __m512i cd_even = _mm512_shuffle_i32x4(c, d, 0x88);
        const __m512i cd_odd = _mm512_shuffle_i32x4(c, d, 0xdd);
        t.row[i] = _mm512_shuffle_i32x4(ab_even, cd_even, 0x88);
        t.row[i + 4] = _mm512_shuffle_i32x4(ab_odd, cd_odd, 0x88);
        t.row[i + 8] = _mm512_shuffle_i32x4(ab_even, cd_even, 0xdd);
        t.row[i + 12] = _mm512_shuffle_i32x4(ab_odd, cd_odd, 0xdd);
    }
    s = t;
}

// Returns so many elements, a vector of words at most, and zeros behind them.
template <class T>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline __m512i load_words(
    const T* from, std::int64_t elements) noexcept {
    if (elements >= vector_elements<T>) return _mm512_loadu_si512(from);
    T padded[vector_elements<T>] = {};
    std::copy_n(from, elements, padded);
    return _mm512_loadu_si512(padded);
}

// Writes the words from `first` on of up to 16 rows to as many columns of a panel.
template <class T>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void pack_square(
    HostMatrix<const T> rows, std::int64_t first, T* panel) noexcept {
    const std::int64_t words = std::min<std::int64_t>(lanes, words_of<T>(rows.cols) - first);
    const std::int64_t element = first * word_elements<T>;
    Square square;
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < lanes; ++i)
        square.row[i] = i < rows.rows
                            ? load_words(rows.data + i * rows.stride + element, rows.cols - element)
                            : _mm512_setzero_si512();
    transpose(square);
    for (std::int64_t k = 0; k < words; ++k)
        _mm512_storeu_si512(panel + (first + k) * panel_row<T>, square.row[k]);
}

template <class T>
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void pack_transposed_words(
    HostMatrix<const T> matrix, T* panels) noexcept {
    const std::int64_t panel = panel_elements<T>(matrix.cols), words = words_of<T>(matrix.cols);
    for (std::int64_t j = 0; j < panels_of(matrix.rows) * panel_columns; j += lanes) {
        const std::int64_t rows = std::clamp<std::int64_t>(matrix.rows - j, 0, lanes);
        T* const to = panels + j / panel_columns * panel + j % panel_columns * word_elements<T>;
        for (std::int64_t k = 0; k < words; k += lanes)
            pack_square(matrix.rows_from(rows == 0 ? 0 : j, rows), k, to);
    }
}

}  // namespace

template <>
bool multiplies_words<bf16>() noexcept {
    return dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_bf16;
}
template <>
bool multiplies_words<float>() noexcept {
    return avx512::usable();
}

[[gnu::target("arch=x86-64-v4")]] void pack_panels(HostMatrix<const bf16> matrix,
                                                   bf16* panels) noexcept {
    const std::int64_t panel = panel_elements<bf16>(matrix.rows);
    for (std::int64_t row = 0; row < matrix.rows; row += 2) {
        const bf16* first = matrix.data + row * matrix.stride;
        const bf16* second = row + 1 < matrix.rows ? first + matrix.stride : nullptr;
        bf16* to = panels + row * panel_columns;
        std::int64_t left = matrix.cols;
        if (second != nullptr)
            for (; left >= panel_columns; left -= panel_columns, to += panel) {
                interleave(first, second, to);
                interleave(first + vector_elements<bf16>, second + vector_elements<bf16>,
                           to + panel_columns);
                first += panel_columns;
                second += panel_columns;
            }
        for (; left > 0; left -= panel_columns, to += panel) {
            interleave_incomplete(first, second, left, to);
            first += panel_columns;
        }
    }
}

void pack_panels(HostMatrix<const float> matrix, float* panels) noexcept {
    for (std::int64_t j = 0; j < matrix.cols; j += panel_columns) {
        const std::int64_t columns = std::min(panel_columns, matrix.cols - j);
        float* to = panels + j * matrix.rows;
        for (std::int64_t i = 0; i < matrix.rows; ++i, to += panel_columns) {
            std::copy_n(matrix.data + i * matrix.stride + j, columns, to);
            std::fill(to + columns, to + panel_columns, 0.0f);
        }
    }
}

[[gnu::target("arch=x86-64-v4")]] void pack_transposed(HostMatrix<const bf16> matrix,
                                                       bf16* panels) noexcept {
    pack_transposed_words(matrix, panels);
}
[[gnu::target("arch=x86-64-v4")]] void pack_transposed(HostMatrix<const float> matrix,
                                                       float* panels) noexcept {
    pack_transposed_words(matrix, panels);
}

}  // namespace lockstep::kernels::cpu
