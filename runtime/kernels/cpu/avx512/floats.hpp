// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "runtime/core/bf16.hpp"

// Vectors of 16 floats, for code that is compiled for AVX-512 with the instructions for bf16. The
// target is repeated at each function, because it cannot be hidden in a constant.
namespace lockstep::kernels::cpu::avx512 {

// Returns whether this code may be used: the processor has the instructions, and oneDNN may use
// them too (DNNL_MAX_CPU_ISA). Where it is false, the code ends the process by an illegal
// instruction.
bool usable() noexcept;

constexpr int lanes = 16;

// Returns which elements of a vector that begins with element j are among the first n of a row.
inline __mmask16 first_of(std::int64_t n, std::int64_t j) noexcept {
    return static_cast<__mmask16>((1u << std::clamp<std::int64_t>(n - j, 0, lanes)) - 1);
}

// A whole vector, where other functions take the mask of a part.
struct Whole {};
inline __mmask16 mask_of(Whole) noexcept { return 0xFFFF; }
inline __mmask16 mask_of(__mmask16 mask) noexcept { return mask; }

[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 widened(
    __m256i x) noexcept {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

// Elements that the mask lacks are zero and not read.
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 load(
    const float* from, Whole = {}) noexcept {
    return _mm512_loadu_ps(from);
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 load(
    const bf16* from, Whole = {}) noexcept {
    return widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 load(
    const float* from, __mmask16 mask) noexcept {
    return _mm512_maskz_loadu_ps(mask, from);
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 load(
    const bf16* from, __mmask16 mask) noexcept {
    return widened(_mm256_maskz_loadu_epi16(mask, from));
}

// Returns x rounded to nearest even; subnormal floats become zero.
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m256i to_bf16(
    __m512 x) noexcept {
    return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
}

// Elements that the mask lacks are not written, which takes long on some processors.
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void store(
    float* to, __m512 x, Whole = {}) noexcept {
    _mm512_storeu_ps(to, x);
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void store(
    bf16* to, __m512 x, Whole = {}) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), to_bf16(x));
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void store(
    float* to, __m512 x, __mmask16 mask) noexcept {
    _mm512_mask_storeu_ps(to, mask, x);
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void store(
    bf16* to, __m512 x, __mmask16 mask) noexcept {
    _mm256_mask_storeu_epi16(to, mask, to_bf16(x));
}

// Stores x and returns what a later reader sees.
template <class Part>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 store_rounded(
    float* to, __m512 x, Part part) noexcept {
    store(to, x, part);
    return x;
}
template <class Part>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 store_rounded(
    bf16* to, __m512 x, Part part) noexcept {
    store(to, x, part);
    return widened(to_bf16(x));
}

// Calls body(j, part) for the vectors of a row of n elements: j is a vector's first element, and
// `part` is Whole or, for the last one, the mask of its elements.
template <class Body>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void for_vectors(
    std::int64_t n, const Body& body) noexcept {
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) body(j, Whole());
    if (j < n) body(j, first_of(n, j));
}

// Returns e^x by the polynomial of exponential() in vector_math.hpp: 0 below -104, infinity above
// 88.73, NaN for NaN.
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 exponential(
    __m512 x) noexcept {
    // min and max return their second operand if one is NaN.
    const __m512 below = _mm512_min_ps(_mm512_set1_ps(89.0f), x);
    const __m512 clamped = _mm512_max_ps(_mm512_set1_ps(-104.0f), below);
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const __m512 n =
        _mm512_roundscale_ps(_mm512_mul_ps(clamped, _mm512_set1_ps(1.44269504f)), nearest);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), clamped);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.9875691500e-4f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
    p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), _mm512_add_ps(r, _mm512_set1_ps(1.0f)));
    return _mm512_scalef_ps(p, n);
}

// Returns 1 / (1 + e^-x).
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 sigmoid(
    __m512 x) noexcept {
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 power = exponential(_mm512_sub_ps(_mm512_setzero_ps(), x));
    return _mm512_div_ps(one, _mm512_add_ps(one, power));
}

}  // namespace lockstep::kernels::cpu::avx512
