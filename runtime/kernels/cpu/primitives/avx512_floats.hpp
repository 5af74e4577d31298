// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include "runtime/core/bf16.hpp"

// Vectors of 16 floats, for code that is compiled for AVX-512 with the instructions for bf16. bf16
// is rounded to nearest even; subnormal floats become zero.
namespace lockstep::kernels::cpu::avx512 {

constexpr int lanes = 16;

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

[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m256i to_bf16(
    __m512 x) noexcept {
    return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
}

[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void store(
    float* to, __m512 x) noexcept {
    _mm512_storeu_ps(to, x);
}
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void store(
    bf16* to, __m512 x) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), to_bf16(x));
}

}  // namespace lockstep::kernels::cpu::avx512
