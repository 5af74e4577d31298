// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/cpu/avx512/floats.hpp"
#include "runtime/kernels/cpu/primitives/dropout_mask.hpp"

// Vectors of a row of which dropout may drop elements.
namespace lockstep::kernels::cpu::avx512 {

// These are the types of `masked` without dropout and with it.
struct AsIs {
    [[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 operator()(
        __m512 v) const noexcept {
        return v;
    }
};
struct Times {
    __m512 factors;

    [[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline __m512 operator()(
        __m512 v) const noexcept {
        return _mm512_mul_ps(v, factors);
    }
};

// Calls body(j, part, masked) as for_vectors() does, for n elements that are the columns from
// `first` on of the mask's row; `first` is a multiple of 4. masked(v) is v, a vector of the
// elements from j on, times their dropout factors.
template <class Body>
[[gnu::target("arch=x86-64-v4,avx512bf16"), gnu::always_inline]] inline void for_masked_vectors(
    const RowMask& mask, std::int64_t first, std::int64_t n, const Body& body) noexcept {
    if (mask.threshold == 0) {
        for_vectors(
            n, [&](std::int64_t j, auto part) __attribute__((
                   target("arch=x86-64-v4,avx512bf16"), always_inline)) { body(j, part, AsIs()); });
        return;
    }
    alignas(64) float factors[mask_step];
    for (std::int64_t begin = 0; begin < n; begin += mask_step) {
        const std::int64_t columns = std::min(mask_step, n - begin);
        mask_factors(mask, first + begin, columns, factors);
        for_vectors(
            columns, [&](std::int64_t j, auto part)
                         __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                             body(begin + j, part, Times{load(factors + j, part)});
                         });
    }
}

}  // namespace lockstep::kernels::cpu::avx512
