// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/avx512/loss_rows.hpp"

#include <limits>

#include "runtime/kernels/cpu/avx512/floats.hpp"

namespace lockstep::kernels::cpu::avx512 {

namespace {

// NaN is never the largest, as in a comparison of floats.
template <class T>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline LargestAndSum scan(
    const T* x, std::int64_t n) noexcept {
    const __m512 lowest = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
    __m512 largest = lowest, sum = _mm512_setzero_ps();
    for_vectors(
        n, [&](std::int64_t j, auto part)
               __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                   const __m512 v = load(x + j, part);
                   largest = _mm512_max_ps(_mm512_mask_mov_ps(lowest, mask_of(part), v), largest);
                   sum = _mm512_add_ps(sum, v);
               });
    return {_mm512_reduce_max_ps(largest), _mm512_reduce_add_ps(sum)};
}

// Returns the sum of e^(x - shift), and calls keep(j, power, part) for each vector of powers.
template <class T, class Keep>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline float sum_powers(
    const T* x, std::int64_t n, float shift, const Keep& keep) noexcept {
    const __m512 shifts = _mm512_set1_ps(shift);
    __m512 sum = _mm512_setzero_ps();
    for_vectors(
        n, [&](std::int64_t j, auto part)
               __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                   const __m512 power = exponential(_mm512_sub_ps(load(x + j, part), shifts));
                   sum = _mm512_add_ps(sum, _mm512_maskz_mov_ps(mask_of(part), power));
                   keep(j, power, part);
               });
    return _mm512_reduce_add_ps(sum);
}

}  // namespace

[[gnu::target("arch=x86-64-v4,avx512bf16")]] LargestAndSum largest_and_sum(
    const bf16* x, std::int64_t n) noexcept {
    return scan(x, n);
}
[[gnu::target("arch=x86-64-v4,avx512bf16")]] LargestAndSum largest_and_sum(
    const float* x, std::int64_t n) noexcept {
    return scan(x, n);
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] float sum_of_exponentials(const bf16* x,
                                                                       std::int64_t n,
                                                                       float shift) noexcept {
    return sum_powers(x, n, shift,
                      [&](std::int64_t, __m512, auto)
                          __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)){});
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] float exponentiate(const float* x, float* y,
                                                                std::int64_t n,
                                                                float shift) noexcept {
    return sum_powers(
        x, n, shift,
        [&](std::int64_t j, __m512 power, auto part) __attribute__((
            target("arch=x86-64-v4,avx512bf16"), always_inline)) { store(y + j, power, part); });
}

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void gradient_row(bf16* x, std::int64_t n, float shift,
                                                               float scale,
                                                               float uniform) noexcept {
    const __m512 shifts = _mm512_set1_ps(shift), scales = _mm512_set1_ps(scale);
    const __m512 uniforms = _mm512_set1_ps(uniform);
    for_vectors(
        n, [&](std::int64_t j, auto part)
               __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                   const __m512 power = exponential(_mm512_sub_ps(load(x + j, part), shifts));
                   store(x + j, _mm512_fmsub_ps(scales, power, uniforms), part);
               });
}

}  // namespace lockstep::kernels::cpu::avx512
