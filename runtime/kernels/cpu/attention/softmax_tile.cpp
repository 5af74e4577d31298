// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/attention/softmax_tile.hpp"

#include <immintrin.h>

#include <algorithm>
#include <limits>

#include "runtime/kernels/cpu/avx512/floats.hpp"

namespace lockstep::kernels::cpu {

namespace {

using avx512::exponential;
using avx512::first_of;
using avx512::lanes;

template <class T>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline float write_row(
    const ScoreRow& row, T* to) noexcept {
    const __m512 scale = _mm512_set1_ps(row.scale), shift = _mm512_set1_ps(row.shift);
    __m512 sum = _mm512_setzero_ps();
    for (int j = 0; j < row.columns; j += lanes) {
        const __m512 score = _mm512_loadu_ps(row.scores + j);
        __m512 p = _mm512_maskz_mov_ps(first_of(row.visible, j),
                                       exponential(_mm512_fmsub_ps(score, scale, shift)));
        sum = _mm512_add_ps(sum, p);
        if (row.factors != nullptr) p = _mm512_mul_ps(p, _mm512_loadu_ps(row.factors + j));
        avx512::store(to + j, p);
    }
    return _mm512_reduce_add_ps(sum);
}

[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512i words_of_bf16(
    const float* from) noexcept {
    return _mm512_cvtepu16_epi32(avx512::to_bf16(_mm512_loadu_ps(from)));
}

}  // namespace

[[gnu::target("arch=x86-64-v4,avx512bf16")]] float maximum_of(const float* x, int n) noexcept {
    const __m512 lowest = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
    __m512 maximum = lowest;
    for (int j = 0; j < n; j += lanes)
        maximum = _mm512_max_ps(maximum,
                                _mm512_mask_mov_ps(lowest, first_of(n, j), _mm512_loadu_ps(x + j)));
    return _mm512_reduce_max_ps(maximum);
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] float write_exponentials(const ScoreRow& row,
                                                                      bf16* to) noexcept {
    return write_row(row, to);
}
[[gnu::target("arch=x86-64-v4,avx512bf16")]] float write_exponentials(const ScoreRow& row,
                                                                      float* to) noexcept {
    return write_row(row, to);
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] float dot_of(const bf16* x, const bf16* y,
                                                          std::int64_t n) noexcept {
    constexpr std::int64_t step = 2 * lanes;
    __m512 sum = _mm512_setzero_ps();
    std::int64_t j = 0;
    for (; j + step <= n; j += step)
        sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_loadu_si512(x + j)),
                               reinterpret_cast<__m512bh>(_mm512_loadu_si512(y + j)));
    float rest = 0;
    for (; j < n; ++j) rest += static_cast<float>(x[j]) * static_cast<float>(y[j]);
    return _mm512_reduce_add_ps(sum) + rest;
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] float dot_of(const float* x, const float* y,
                                                          std::int64_t n) noexcept {
    __m512 sum = _mm512_setzero_ps();
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes)
        sum = _mm512_fmadd_ps(_mm512_loadu_ps(x + j), _mm512_loadu_ps(y + j), sum);
    float rest = 0;
    for (; j < n; ++j) rest += x[j] * y[j];
    return _mm512_reduce_add_ps(sum) + rest;
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void softmax_backward_tile(
    const SoftmaxTile& tile) noexcept {
    const __m512 scale = _mm512_set1_ps(tile.scale);
    for (int i = 0; i < tile.rows; ++i) {
        const __m512 log_sum_exp = _mm512_set1_ps(tile.log_sum_exp[i]);
        const __m512 delta = _mm512_set1_ps(tile.delta[i]);
        for (int j = 0; j < tile.columns; j += lanes) {
            float* const p = tile.p + i * panel_columns + j;
            float* const ds = tile.ds + i * panel_columns + j;
            const __m512 score = _mm512_fmsub_ps(_mm512_loadu_ps(p), scale, log_sum_exp);
            const __m512 seen =
                _mm512_maskz_mov_ps(first_of(tile.visible[i], j), exponential(score));
            __m512 dropped = seen, gradient = _mm512_loadu_ps(ds);
            if (tile.factors != nullptr) {
                const __m512 factors = _mm512_loadu_ps(tile.factors + i * panel_columns + j);
                dropped = _mm512_mul_ps(seen, factors);
                gradient = _mm512_mul_ps(gradient, factors);
            }
            gradient = _mm512_mul_ps(_mm512_mul_ps(seen, _mm512_sub_ps(gradient, delta)), scale);
            _mm512_storeu_ps(p, dropped);
            _mm512_storeu_ps(ds, gradient);
        }
    }
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void write_words(const float* tile, int rows,
                                                              int columns, bf16* panel) noexcept {
    for (int i = 0; i < rows; i += 2, panel += 2 * panel_columns) {
        const float* const first = tile + i * panel_columns;
        for (int j = 0; j < columns; j += lanes) {
            __m512i words = words_of_bf16(first + j);
            if (i + 1 < rows)
                words = _mm512_or_si512(
                    words, _mm512_slli_epi32(words_of_bf16(first + panel_columns + j), 16));
            _mm512_storeu_si512(panel + 2 * j, words);
        }
    }
}

void write_words(const float* tile, int rows, int columns, float* panel) noexcept {
    write_rows(tile, rows, columns, panel, panel_columns);
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void write_rows(const float* tile, int rows,
                                                             int columns, bf16* to,
                                                             std::int64_t stride) noexcept {
    for (int i = 0; i < rows; ++i, to += stride)
        for (int j = 0; j < columns; j += lanes)
            avx512::store(to + j, _mm512_loadu_ps(tile + i * panel_columns + j));
}

void write_rows(const float* tile, int rows, int columns, float* to, std::int64_t stride) noexcept {
    for (int i = 0; i < rows; ++i) std::copy_n(tile + i * panel_columns, columns, to + i * stride);
}

}  // namespace lockstep::kernels::cpu
