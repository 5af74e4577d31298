// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/avx512/activation_rows.hpp"

#include "runtime/kernels/cpu/avx512/floats.hpp"

namespace lockstep::kernels::cpu::avx512 {

namespace {

// gelu(x) = x sigmoid(u), where u = 2 sqrt(2 / pi) (x + cubic x^3).
constexpr float linear = 1.5957691216f, cubic = 0.044715f;

// Beyond 100 gelu is 0 or x. Larger numbers would become infinite in u and u'. NaN stays.
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 clamped(
    __m512 x) noexcept {
    return _mm512_max_ps(_mm512_set1_ps(-100.0f), _mm512_min_ps(_mm512_set1_ps(100.0f), x));
}

[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 exponent(
    __m512 x) noexcept {
    const __m512 square = _mm512_mul_ps(x, x);
    const __m512 factor =
        _mm512_fmadd_ps(square, _mm512_set1_ps(linear * cubic), _mm512_set1_ps(linear));
    return _mm512_mul_ps(x, factor);
}

// gelu'(x) = s + x s (1 - s) u'(x), where s = sigmoid(u).
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 derivative(
    __m512 unclamped) noexcept {
    const __m512 x = clamped(unclamped);
    const __m512 s = sigmoid(exponent(x));
    const __m512 square = _mm512_mul_ps(x, x);
    const __m512 slope =
        _mm512_fmadd_ps(square, _mm512_set1_ps(3.0f * linear * cubic), _mm512_set1_ps(linear));
    const __m512 rest = _mm512_mul_ps(s, _mm512_sub_ps(_mm512_set1_ps(1.0f), s));
    return _mm512_fmadd_ps(_mm512_mul_ps(x, rest), slope, s);
}

}  // namespace

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void relu_backward_row(const bf16* y, const bf16* dy,
                                                                    float scale, bf16* dx,
                                                                    float* sums,
                                                                    std::int64_t d) noexcept {
    const __m512 factor = _mm512_set1_ps(scale);
    for_vectors(
        d, [&](std::int64_t j,
               auto part) __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
            const __mmask16 positive =
                _mm512_cmp_ps_mask(load(y + j, part), _mm512_setzero_ps(), _CMP_GT_OQ);
            const __m512 gradient = _mm512_maskz_mul_ps(positive, load(dy + j, part), factor);
            const __m512 seen = store_rounded(dx + j, gradient, part);
            store(sums + j, _mm512_add_ps(seen, load(sums + j, part)), part);
        });
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void gelu_row(const bf16* x, bf16* y,
                                                           std::int64_t d) noexcept {
    for_vectors(
        d, [&](std::int64_t j, auto part)
               __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                   const __m512 v = load(x + j, part);
                   store(y + j, _mm512_mul_ps(v, sigmoid(exponent(clamped(v)))), part);
               });
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void gelu_backward_row(const bf16* x, const bf16* dy,
                                                                    bf16* dx, float* sums,
                                                                    std::int64_t d) noexcept {
    for_vectors(
        d, [&](std::int64_t j, auto part)
               __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                   const __m512 gradient =
                       _mm512_mul_ps(load(dy + j, part), derivative(load(x + j, part)));
                   const __m512 seen = store_rounded(dx + j, gradient, part);
                   store(sums + j, _mm512_add_ps(seen, load(sums + j, part)), part);
               });
}

}  // namespace lockstep::kernels::cpu::avx512
