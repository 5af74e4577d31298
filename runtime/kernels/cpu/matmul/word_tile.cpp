// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/matmul/word_tile.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "runtime/kernels/cpu/avx512/floats.hpp"

namespace lockstep::kernels::cpu {

namespace {

using avx512::lanes;

template <class T>
constexpr std::int64_t vector_elements = lanes* word_elements<T>;

// Up to sixteen sums hide the latency of the instructions, of which two may start in each cycle.
template <int rows, int vectors>
struct Sums {
    __m512 of[rows][vectors];
};

[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 add_product(
    __m512 sum, __m512i a, __m512i b, bf16) noexcept {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 add_product(
    __m512 sum, __m512i a, __m512i b, float) noexcept {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), sum);
}

template <class T>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512i spread_word(
    const T* from) noexcept {
    int word;
    std::memcpy(&word, from, sizeof(word));
    return _mm512_set1_epi32(word);
}

// Adds one word of each row, which `word_of(i)` points to, times a row of b's words.
template <class T, int rows, int vectors, class WordOf>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void add_words(
    Sums<rows, vectors>& sums, const WordOf& word_of, const T* b) noexcept {
    __m512i columns[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) columns[v] = _mm512_loadu_si512(b + v * vector_elements<T>);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
        const __m512i row = spread_word(word_of(i));
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v)
            sums.of[i][v] = add_product(sums.of[i][v], row, columns[v], T());
    }
}

// There are two loops because one pointer is faster than several where a's words lie side by side.
template <class T, int rows, int vectors>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void add_products(
    const PanelFactors<T>& factors, std::int64_t, Sums<rows, vectors>& sums) noexcept {
    const T *a = factors.a + word_elements<T> * factors.first_column, *b = factors.b;
    for (std::int64_t k = 0; k < factors.words; ++k, a += panel_row<T>, b += panel_row<T>)
        add_words<T>(
            sums, [=](int i) { return a + word_elements<T> * i; }, b);
}
template <class T, int rows, int vectors>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void add_products(
    const RowFactors<T>& factors, std::int64_t count, Sums<rows, vectors>& sums) noexcept {
    const T* a[rows] = {factors.a};  // rows that a lacks are not read: its last one stands for them
#pragma GCC unroll 8
    for (int i = 1; i < rows; ++i) a[i] = a[i - 1] + (i < count ? factors.stride : 0);
    const T* b = factors.b;
    for (std::int64_t k = 0; k < factors.words; ++k, b += panel_row<T>)
        add_words<T>(
            sums, [&](int i) { return a[i] + word_elements<T> * k; }, b);
}

template <Into into, class C, int rows, int vectors>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void write(
    const Sums<rows, vectors>& sums, C* c, std::int64_t stride, std::int64_t count) noexcept {
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
        if (i == count) return;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            C* const to = c + i * stride + v * lanes;
            __m512 sum = sums.of[i][v];
            if constexpr (into == Into::add) sum = _mm512_add_ps(sum, avx512::load(to));
            avx512::store(to, sum);
        }
    }
}

template <class C, int rows, int vectors>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void write(
    const Sums<rows, vectors>& sums, C* c, std::int64_t stride, std::int64_t count,
    Into into) noexcept {
    if (into == Into::add)
        write<Into::add>(sums, c, stride, count);
    else
        write<Into::overwrite>(sums, c, stride, count);
}

// Writes a tile, which may lack rows, and columns of the last vector.
template <class C, int rows, int vectors>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void write(
    const Sums<rows, vectors>& sums, HostMatrix<C> c, Into into) noexcept {
    constexpr std::int64_t width = vectors * lanes;
    if (c.cols == width) return write(sums, c.data, c.stride, c.rows, into);
    // Stores with a mask take so long on some processors that incomplete tiles are copied instead.
    C whole[rows * width] = {};
    for (std::int64_t i = 0; i < c.rows && into == Into::add; ++i)
        std::copy_n(c.data + i * c.stride, c.cols, whole + i * width);
    write(sums, whole, width, c.rows, into);
    for (std::int64_t i = 0; i < c.rows; ++i)
        std::copy_n(whole + i * width, c.cols, c.data + i * c.stride);
}

template <int rows, int vectors, class Factors, class C>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void calculate(
    const Factors& factors, Into into, HostMatrix<C> c) noexcept {
    constexpr std::int64_t line_elements = 64 / sizeof(C);
    if (into == Into::add)
        for (std::int64_t i = 0; i < c.rows; ++i)
            for (std::int64_t j = 0; j < c.cols; j += line_elements)
                _mm_prefetch(c.data + i * c.stride + j, _MM_HINT_T0);
    Sums<rows, vectors> sums = {};  // a loop of zeros would make GCC 12 keep them in memory
    add_products(factors, c.rows, sums);
    write(sums, c, into);
}

template <int rows, int vectors>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void calculate(
    const RowFactors<bf16>& factors, const LayerEnd& end, HostMatrix<bf16> c) noexcept {
    Sums<rows, vectors> sums = {};
    if (end.bias != nullptr)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            const __m512 bias = avx512::load(end.bias + v * lanes);
#pragma GCC unroll 8
            for (int i = 0; i < rows; ++i) sums.of[i][v] = bias;
        }
    add_products(factors, c.rows, sums);
    if (end.rectifier == Rectifier::relu)  // the second operand is the result if it is NaN
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                sums.of[i][v] = _mm512_max_ps(_mm512_setzero_ps(), sums.of[i][v]);
    write(sums, c, Into::overwrite);
}

// `end` is Into or LayerEnd.
template <class Factors, class End, class C>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void calculate_tile(
    const Factors& factors, const End& end, HostMatrix<C> c) noexcept {
    const std::int64_t vectors = (c.cols + lanes - 1) / lanes;
    if (vectors == 4) return calculate<4, 4>(factors, end, c);
    if (vectors == 3) return calculate<4, 3>(factors, end, c);
    if (vectors == 2) return calculate<8, 2>(factors, end, c);
    calculate<8, 1>(factors, end, c);
}

}  // namespace

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void multiply_tile(const PanelFactors<bf16>& factors,
                                                                HostMatrix<float> c,
                                                                Into into) noexcept {
    calculate_tile(factors, into, c);
}
[[gnu::target("arch=x86-64-v4,avx512bf16")]] void multiply_tile(const PanelFactors<bf16>& factors,
                                                                HostMatrix<bf16> c,
                                                                Into into) noexcept {
    calculate_tile(factors, into, c);
}
[[gnu::target("arch=x86-64-v4,avx512bf16")]] void multiply_tile(const PanelFactors<float>& factors,
                                                                HostMatrix<float> c,
                                                                Into into) noexcept {
    calculate_tile(factors, into, c);
}
[[gnu::target("arch=x86-64-v4,avx512bf16")]] void multiply_tile(const RowFactors<bf16>& factors,
                                                                HostMatrix<float> c,
                                                                Into into) noexcept {
    calculate_tile(factors, into, c);
}
[[gnu::target("arch=x86-64-v4,avx512bf16")]] void multiply_tile(const RowFactors<bf16>& factors,
                                                                HostMatrix<bf16> c,
                                                                Into into) noexcept {
    calculate_tile(factors, into, c);
}
[[gnu::target("arch=x86-64-v4,avx512bf16")]] void multiply_tile(const RowFactors<float>& factors,
                                                                HostMatrix<float> c,
                                                                Into into) noexcept {
    calculate_tile(factors, into, c);
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void multiply_layer_tile(
    const RowFactors<bf16>& factors, const LayerEnd& end, HostMatrix<bf16> c) noexcept {
    calculate_tile(factors, end, c);
}

}  // namespace lockstep::kernels::cpu
