// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "runtime/core/bf16.hpp"

// These elementwise functions have no calls and no branches, so that a loop over them becomes
// vector code. They are always_inline because they are inlined into functions that are compiled
// once per instruction set.
namespace lockstep::kernels::cpu {

[[gnu::always_inline]] inline float load(float x) noexcept { return x; }
[[gnu::always_inline]] inline float load(bf16 x) noexcept { return static_cast<float>(x); }

[[gnu::always_inline]] inline void store(float& to, float x) noexcept { to = x; }
// Stores bf16(x) with one select on 32 bits; the compiler does not vectorise the constructor of
// bf16.
[[gnu::always_inline]] inline void store(bf16& to, float x) noexcept {
    const auto u = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t nearest = u + 0x7FFFu + ((u >> 16) & 1u);
    const std::uint32_t quiet = u | 0x400000u;
    to.bits = static_cast<std::uint16_t>(((u & 0x7FFFFFFFu) > 0x7F800000u ? quiet : nearest) >> 16);
}

// Returns a * b + c, rounded once. The compiler may fuse other products with sums or not, which
// would give other last bits than a GPU's kernel of the same formula.
[[gnu::always_inline]] inline float fused(float a, float b, float c) noexcept {
    return __builtin_fmaf(a, b, c);
}

// Stores x rounded to T and returns the stored value, which later readers see.
template <class T>
[[gnu::always_inline]] inline float store_rounded(T& to, float x) noexcept {
    store(to, x);
    return load(to);
}

// Returns e^x with a relative error below 2e-7: 0 below -87, infinity above 88.72, NaN for NaN. It
// is 2^n e^r, where r is at most ln(2) / 2 from 0; the polynomial is that of Cephes' expf.
[[gnu::always_inline]] inline float exponential(float x) noexcept {
    constexpr float round_to_integer = 12582912.0f;  // 1.5 * 2^23: the low bits of the sum are n
    constexpr float lowest = -87.0f, highest = 88.722839f;
    const float clamped = x < lowest ? lowest : x > highest ? highest : x;
    const float shifted = clamped * 1.44269504f + round_to_integer;
    const float n = shifted - round_to_integer;
    const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    // Multiplies by 2^(n - 1) and by 2, because 2^128 is not a float.
    const float half = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 126u) << 23);
    const float result = p * half * 2.0f;
    return x < lowest ? 0.0f : x > highest ? std::numeric_limits<float>::infinity() : result;
}

// Returns 1 / (1 + e^-x).
[[gnu::always_inline]] inline float sigmoid(float x) noexcept {
    return 1.0f / (1.0f + exponential(-x));
}

struct SineCosine {
    float sine, cosine;
};

// Returns the sine and cosine of x with errors below 1.2e-7, for |x| up to 2^30. x is brought to
// [-pi/4, pi/4] in double, so that angles of long texts lose nothing; the polynomials are those of
// Cephes' sinf and cosf.
[[gnu::always_inline]] inline SineCosine sine_cosine(float x) noexcept {
    constexpr double round_to_integer = 6755399441055744.0;  // 1.5 * 2^52
    const double shifted = static_cast<double>(x) * 0.63661977236758134 + round_to_integer;
    const auto quarter = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(shifted));
    const auto r = static_cast<float>(static_cast<double>(x) -
                                      (shifted - round_to_integer) * 1.5707963267948966);
    const float s = r * r;
    const float sine =
        r + r * s * (-1.6666654611e-1f + s * (8.3321608736e-3f - s * 1.9515295891e-4f));
    const float cosine =
        1.0f - 0.5f * s +
        s * s * (4.166664568298827e-2f + s * (-1.388731625493765e-3f + s * 2.443315711809948e-5f));
    // Each quarter turn makes (cosine, -sine) of (sine, cosine).
    const float first = (quarter & 1u) == 0 ? sine : cosine;
    const float second = (quarter & 1u) == 0 ? cosine : sine;
    return {(quarter & 2u) == 0 ? first : -first, ((quarter + 1u) & 2u) == 0 ? second : -second};
}

// Returns erf(x) with an absolute error below 3e-7, by Eigen's odd rational function.
[[gnu::always_inline]] inline float error_function(float x) noexcept {
    const float t = x < -4.0f ? -4.0f : x > 4.0f ? 4.0f : x;
    const float s = t * t;
    float p = -2.72614225801306e-10f;
    p = p * s + 2.77068142495902e-08f;
    p = p * s - 2.10102402082508e-06f;
    p = p * s - 5.69250639462346e-05f;
    p = p * s - 7.34990630326855e-04f;
    p = p * s - 2.95459980854025e-03f;
    p = p * s - 1.60960333262415e-02f;
    float q = -1.45660718464996e-05f;
    q = q * s - 2.13374055278905e-04f;
    q = q * s - 1.68282697438203e-03f;
    q = q * s - 7.37332916720468e-03f;
    q = q * s - 1.42647390514189e-02f;
    return t * p / q;
}

}  // namespace lockstep::kernels::cpu
