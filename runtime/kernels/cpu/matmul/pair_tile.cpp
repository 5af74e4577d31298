// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/matmul/pair_tile.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>

namespace lockstep::kernels::cpu {

namespace {

constexpr int lanes = 16, row_vectors = static_cast<int>(panel_columns) / lanes;
constexpr std::int64_t panel_row = 2 * panel_columns, vector_elements = 2 * lanes;

// Sixteen sums hide the latency of the instruction, of which two may start in each cycle.
struct Sums {
    __m512 of[tile_rows][row_vectors];
};

// Interleaves 32 columns of two rows.
[[gnu::target("arch=x86-64-v4"), gnu::always_inline]] inline void interleave(const bf16* first,
                                                                             const bf16* second,
                                                                             bf16* to) noexcept {
    // Unpacking stays within 128 bits, so the quarters that it joins are first put side by side.
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    const __m512i a = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(first));
    const __m512i b = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(second));
    _mm512_storeu_si512(to, _mm512_unpacklo_epi16(a, b));
    _mm512_storeu_si512(to + vector_elements, _mm512_unpackhi_epi16(a, b));
}

// Writes a row of pairs that lacks columns or, if `second` is null, the second row.
void interleave_incomplete(const bf16* first, const bf16* second, std::int64_t columns,
                           bf16* to) noexcept {
    for (std::int64_t j = 0; j < panel_columns; ++j) {
        to[2 * j] = j < columns ? first[j] : bf16();
        to[2 * j + 1] = j < columns && second != nullptr ? second[j] : bf16();
    }
}

[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512bh spread_pair(
    const bf16* pair) noexcept {
    int word;
    std::memcpy(&word, pair, sizeof(word));
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(word));
}

// Adds one pair of each row, which `pair_of(i)` points to, times a row of b's pairs.
template <class PairOf>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void add_pairs(
    Sums& sums, const PairOf& pair_of, const bf16* b) noexcept {
    __m512bh columns[row_vectors];
    for (int v = 0; v < row_vectors; ++v)
        columns[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + v * vector_elements));
#pragma GCC unroll 4
    for (int i = 0; i < tile_rows; ++i) {
        const __m512bh row = spread_pair(pair_of(i));
        for (int v = 0; v < row_vectors; ++v)
            sums.of[i][v] = _mm512_dpbf16_ps(sums.of[i][v], row, columns[v]);
    }
}

// There are two loops because one pointer is faster than four where a's pairs lie side by side.
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void add_products(
    const PanelTile& tile, std::int64_t, Sums& sums) noexcept {
    const bf16 *a = tile.a + 2 * tile.first_column, *b = tile.b;
    for (std::int64_t k = 0; k < tile.pairs; ++k, a += panel_row, b += panel_row)
        add_pairs(
            sums, [=](int i) { return a + 2 * i; }, b);
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void add_products(
    const RowTile& tile, std::int64_t rows, Sums& sums) noexcept {
    const bf16* a[tile_rows];  // rows that a lacks are not read: its last one stands for them
    for (std::int64_t i = 0; i < tile_rows; ++i)
        a[i] = tile.a + std::min(i, rows - 1) * tile.stride;
    const bf16* b = tile.b;
    for (std::int64_t k = 0; k < tile.pairs; ++k, b += panel_row)
        add_pairs(
            sums, [&](int i) { return a[i] + 2 * k; }, b);
}

[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 load(
    const float* from) noexcept {
    return _mm512_loadu_ps(from);
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 load(
    const bf16* from) noexcept {
    const auto* const words = reinterpret_cast<const __m256i*>(from);
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(words));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void store(
    float* to, __m512 sum) noexcept {
    _mm512_storeu_ps(to, sum);
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void store(
    bf16* to, __m512 sum) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sum)));
}

template <Into into, class T>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void write(
    const Sums& sums, T* c, std::int64_t stride) noexcept {
#pragma GCC unroll 4
    for (int i = 0; i < tile_rows; ++i)
        for (int v = 0; v < row_vectors; ++v) {
            T* const to = c + i * stride + v * lanes;
            __m512 sum = sums.of[i][v];
            if constexpr (into == Into::add) sum = _mm512_add_ps(sum, load(to));
            store(to, sum);
        }
}

template <class T>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void write(
    const Sums& sums, T* c, std::int64_t stride, Into into) noexcept {
    if (into == Into::add)
        write<Into::add>(sums, c, stride);
    else
        write<Into::overwrite>(sums, c, stride);
}

template <class Tile, class T>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void calculate(
    const Tile& tile, HostMatrix<T> c, Into into) noexcept {
    constexpr std::int64_t line_elements = 64 / sizeof(T);
    if (into == Into::add)
        for (std::int64_t i = 0; i < c.rows; ++i)
            for (std::int64_t j = 0; j < panel_columns; j += line_elements)
                _mm_prefetch(c.data + i * c.stride + j, _MM_HINT_T0);
    Sums sums;
    for (auto& row : sums.of)
        for (auto& sum : row) sum = _mm512_setzero_ps();
    add_products(tile, c.rows, sums);
    if (c.rows == tile_rows && c.cols == panel_columns) return write(sums, c.data, c.stride, into);
    // Stores with a mask take so long on some processors that incomplete tiles are copied instead.
    T whole[tile_rows * panel_columns] = {};
    for (std::int64_t i = 0; i < c.rows && into == Into::add; ++i)
        std::copy_n(c.data + i * c.stride, c.cols, whole + i * panel_columns);
    write(sums, whole, panel_columns, into);
    for (std::int64_t i = 0; i < c.rows; ++i)
        std::copy_n(whole + i * panel_columns, c.cols, c.data + i * c.stride);
}

}  // namespace

bool uses_pairs() noexcept {
    return dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_bf16;
}

[[gnu::target("arch=x86-64-v4")]] void pack_panels(HostMatrix<const bf16> matrix,
                                                   bf16* panels) noexcept {
    const std::int64_t panel = panel_elements(matrix.rows);
    for (std::int64_t row = 0; row < matrix.rows; row += 2) {
        const bf16* first = matrix.data + row * matrix.stride;
        const bf16* second = row + 1 < matrix.rows ? first + matrix.stride : nullptr;
        bf16* to = panels + row * panel_columns;
        std::int64_t left = matrix.cols;
        if (second != nullptr)
            for (; left >= panel_columns; left -= panel_columns, to += panel) {
                interleave(first, second, to);
                interleave(first + vector_elements, second + vector_elements, to + panel_columns);
                first += panel_columns;
                second += panel_columns;
            }
        for (; left > 0; left -= panel_columns, to += panel) {
            interleave_incomplete(first, second, left, to);
            first += panel_columns;
        }
    }
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void multiply_tile(const PanelTile& tile,
                                                                HostMatrix<float> c,
                                                                Into into) noexcept {
    calculate(tile, c, into);
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void multiply_tile(const RowTile& tile,
                                                                HostMatrix<bf16> c,
                                                                Into into) noexcept {
    calculate(tile, c, into);
}

}  // namespace lockstep::kernels::cpu
