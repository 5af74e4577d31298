// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/avx512/norm_rows.hpp"

#include <cmath>

#include "runtime/kernels/cpu/avx512/floats.hpp"
#include "runtime/kernels/cpu/avx512/masked_vectors.hpp"

namespace lockstep::kernels::cpu::avx512 {

namespace {

// Four sums hide the latency of an addition.
constexpr int sums = 4, step = sums * lanes;

// Returns the sum of the row, of which `term` makes the terms of vectors and parts of vectors.
template <class Term>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline float sum_of(
    const bf16* x, std::int64_t d, const Term& term) noexcept {
    __m512 total[sums] = {};
    std::int64_t j = 0;
    for (; j + step <= d; j += step)
#pragma GCC unroll 4
        for (int i = 0; i < sums; ++i)
            total[i] = _mm512_add_ps(total[i], term(load(x + j + i * lanes), 0xFFFF));
    for (; j < d; j += lanes) {
        const __mmask16 part = first_of(d, j);
        total[0] = _mm512_add_ps(total[0], term(load(x + j, part), part));
    }
    return _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(total[0], total[1]), _mm512_add_ps(total[2], total[3])));
}

struct Norm {
    __m512 mean, rstd;
};

[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 normalised(
    const Norm& norm, __m512 x) noexcept {
    return _mm512_mul_ps(_mm512_sub_ps(x, norm.mean), norm.rstd);
}

}  // namespace

[[gnu::target("arch=x86-64-v4,avx512bf16")]] Moments norm_row(const bf16* x, const bf16* gamma,
                                                              const bf16* beta, float epsilon,
                                                              bf16* y, std::int64_t d) noexcept {
    const auto count = static_cast<float>(d);
    const float mean =
        sum_of(
            x, d,
            [&](__m512 v, __mmask16)
                __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) { return v; }) /
        count;
    Norm norm{_mm512_set1_ps(mean), {}};
    const auto square = [&](__m512 v, __mmask16 part)
        __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
        const __m512 centred = _mm512_maskz_sub_ps(part, v, norm.mean);
        return _mm512_mul_ps(centred, centred);
    };
    const float rstd = 1.0f / std::sqrt(sum_of(x, d, square) / count + epsilon);
    norm.rstd = _mm512_set1_ps(rstd);
    for_vectors(
        d, [&](std::int64_t j, auto part)
               __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                   store(y + j,
                         _mm512_fmadd_ps(normalised(norm, load(x + j, part)), load(gamma + j, part),
                                         load(beta + j, part)),
                         part);
               });
    return {mean, rstd};
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void residual_row(const RowMask& mask, const bf16* x,
                                                               const bf16* branch, bf16* sum,
                                                               std::int64_t d) noexcept {
    for_masked_vectors(
        mask, 0, d,
        [&](std::int64_t j, auto part, auto masked)
            __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                const __m512 b = masked(load(branch + j, part));
                store(sum + j, _mm512_add_ps(load(x + j, part), b), part);
            });
}

// The formula is that of norm_rows.cpp beside this folder.
[[gnu::target("arch=x86-64-v4,avx512bf16")]] void norm_backward_row(const RowMask& mask,
                                                                    const NormGradients<bf16>& row,
                                                                    Moments moments,
                                                                    std::int64_t d) noexcept {
    const NormGradients<bf16> r = row;
    const Norm norm{_mm512_set1_ps(moments.mean), _mm512_set1_ps(moments.rstd)};
    __m512 total_g = _mm512_setzero_ps(), total_gh = total_g;
    for_vectors(
        d, [&](std::int64_t j, auto part)
               __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                   const __m512 dy = load(r.dy + j, part);
                   // Behind the row h may be infinite, and infinity times zero is NaN.
                   const __m512 h =
                       _mm512_maskz_mov_ps(mask_of(part), normalised(norm, load(r.sum + j, part)));
                   const __m512 g = _mm512_mul_ps(dy, load(r.gamma + j, part));
                   total_g = _mm512_add_ps(total_g, g);
                   total_gh = _mm512_fmadd_ps(g, h, total_gh);
                   store(r.dgamma + j, _mm512_fmadd_ps(dy, h, load(r.dgamma + j, part)), part);
                   store(r.dbeta + j, _mm512_add_ps(dy, load(r.dbeta + j, part)), part);
               });
    const auto count = static_cast<float>(d);
    const __m512 mean_g = _mm512_set1_ps(_mm512_reduce_add_ps(total_g) / count);
    const __m512 mean_gh = _mm512_set1_ps(_mm512_reduce_add_ps(total_gh) / count);
    for_masked_vectors(
        r.d_branch == nullptr ? RowMask() : mask, 0, d,
        [&](std::int64_t j, auto part, auto masked)
            __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                const __m512 h = normalised(norm, load(r.sum + j, part));
                __m512 g = _mm512_fmsub_ps(load(r.dy + j, part), load(r.gamma + j, part), mean_g);
                g = _mm512_mul_ps(_mm512_fnmadd_ps(h, mean_gh, g), norm.rstd);
                if (r.d_sum != nullptr) g = _mm512_add_ps(g, load(r.d_sum + j, part));
                __m512 seen = store_rounded(r.dx + j, g, part);
                if (r.d_branch != nullptr) seen = store_rounded(r.d_branch + j, masked(seen), part);
                if (r.dbias != nullptr)
                    store(r.dbias + j, _mm512_add_ps(seen, load(r.dbias + j, part)), part);
            });
}

}  // namespace lockstep::kernels::cpu::avx512
