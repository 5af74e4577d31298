// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/dropout_mask.hpp"

#include <immintrin.h>

namespace lockstep::kernels::cpu {

namespace {

constexpr std::uint32_t multiplier0 = 0xD2511F53u, multiplier1 = 0xCD9E8D57u;
constexpr std::uint32_t weyl0 = 0x9E3779B9u, weyl1 = 0xBB67AE85u;

// Computes philox() for 16 counters at once. Its words are kept in 64-bit lanes, of which only the
// lower halves count, so that a product needs no shuffles.
[[gnu::always_inline]] inline void block_factors(const RowMask& mask, std::int64_t first,
                                                 float* factors) noexcept {
    constexpr int lanes = mask_columns / 4;
    constexpr std::uint64_t word = 0xFFFFFFFFu;
    std::uint64_t c0[lanes], c1[lanes], c2[lanes], c3[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
        c0[lane] = mask.site;
        c1[lane] = mask.row;
        c2[lane] = mask.position;
        c3[lane] = static_cast<std::uint64_t>(first / 4 + lane);
    }
    auto k0 = static_cast<std::uint32_t>(mask.key);
    auto k1 = static_cast<std::uint32_t>(mask.key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
#pragma omp simd
        for (int lane = 0; lane < lanes; ++lane) {
            const std::uint64_t a = (c0[lane] & word) * multiplier0;
            const std::uint64_t b = (c2[lane] & word) * multiplier1;
            c0[lane] = (b >> 32) ^ c1[lane] ^ k0;
            c1[lane] = b;
            c2[lane] = (a >> 32) ^ c3[lane] ^ k1;
            c3[lane] = a;
        }
        k0 += weyl0;
        k1 += weyl1;
    }
    // These are copied because a load inside the selection would make it a branch that is often
    // mispredicted.
    const std::uint64_t threshold = mask.threshold;
    const float scale = mask.scale;
    float kept[4][lanes];
#pragma omp simd
    for (int lane = 0; lane < lanes; ++lane) {
        kept[0][lane] = (c0[lane] & word) < threshold ? 0.0f : scale;
        kept[1][lane] = (c1[lane] & word) < threshold ? 0.0f : scale;
        kept[2][lane] = (c2[lane] & word) < threshold ? 0.0f : scale;
        kept[3][lane] = (c3[lane] & word) < threshold ? 0.0f : scale;
    }
#pragma omp simd
    for (int lane = 0; lane < lanes; ++lane) {
        for (int w = 0; w < 4; ++w) factors[lane * 4 + w] = kept[w][lane];
    }
}

[[gnu::target("default")]] void row_factors(const RowMask& mask, std::int64_t first,
                                            std::int64_t columns, float* factors) noexcept {
    for (std::int64_t j = 0; j < columns; j += mask_columns)
        block_factors(mask, first + j, factors + j);
}

[[gnu::target("arch=x86-64-v3")]] void row_factors(const RowMask& mask, std::int64_t first,
                                                   std::int64_t columns, float* factors) noexcept {
    for (std::int64_t j = 0; j < columns; j += mask_columns)
        block_factors(mask, first + j, factors + j);
}

// AVX-512 is coded with intrinsics, which is three times as fast: the compiler multiplies 64 by 64
// bits although 32 by 32 are enough.
[[gnu::target("arch=x86-64-v4")]] void row_factors(const RowMask& mask, std::int64_t first,
                                                   std::int64_t columns, float* factors) noexcept {
    const __m512i m0 = _mm512_set1_epi64(multiplier0), m1 = _mm512_set1_epi64(multiplier1);
    const __m512i threshold = _mm512_set1_epi32(static_cast<int>(mask.threshold));
    const __m512 scale = _mm512_set1_ps(mask.scale);
    // The unpacking below then produces the counters in increasing order.
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    for (std::int64_t j = 0; j < (columns + 31) / 32 * 32; j += 32) {
        __m512i c0 = _mm512_set1_epi64(mask.site), c1 = _mm512_set1_epi64(mask.row);
        __m512i c2 = _mm512_set1_epi64(mask.position);
        __m512i c3 = _mm512_add_epi64(_mm512_set1_epi64((first + j) / 4), order);
        auto k0 = static_cast<std::uint32_t>(mask.key);
        auto k1 = static_cast<std::uint32_t>(mask.key >> 32);
#pragma GCC unroll 10
        for (int round = 0; round < 10; ++round) {
            const __m512i a = _mm512_mul_epu32(c0, m0), b = _mm512_mul_epu32(c2, m1);
            constexpr int exclusive_or = 0x96;
            c0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(b, 32), c1, _mm512_set1_epi64(k0),
                                           exclusive_or);
            c1 = b;
            c2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(a, 32), c3, _mm512_set1_epi64(k1),
                                           exclusive_or);
            c3 = a;
            k0 += weyl0;
            k1 += weyl1;
        }
        const __m512i w01 = _mm512_mask_mov_epi32(_mm512_slli_epi64(c1, 32), 0x5555, c0);
        const __m512i w23 = _mm512_mask_mov_epi32(_mm512_slli_epi64(c3, 32), 0x5555, c2);
        const __m512i low = _mm512_unpacklo_epi64(w01, w23);
        const __m512i high = _mm512_unpackhi_epi64(w01, w23);
        _mm512_storeu_ps(factors + j,
                         _mm512_maskz_mov_ps(_mm512_cmpge_epu32_mask(low, threshold), scale));
        _mm512_storeu_ps(factors + j + 16,
                         _mm512_maskz_mov_ps(_mm512_cmpge_epu32_mask(high, threshold), scale));
    }
}

}  // namespace

void mask_factors(const RowMask& mask, std::int64_t first, std::int64_t columns,
                  float* factors) noexcept {
    row_factors(mask, first, columns, factors);
}

}  // namespace lockstep::kernels::cpu
