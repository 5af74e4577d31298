// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"

// Parts of the cross entropy that work on a piece of a row of logits. These functions need
// usable().
namespace lockstep::kernels::cpu::avx512 {

struct LargestAndSum {
    float largest, sum;
};
LargestAndSum largest_and_sum(const bf16* x, std::int64_t n) noexcept;
LargestAndSum largest_and_sum(const float* x, std::int64_t n) noexcept;

// Returns the sum of e^(x - shift).
float sum_of_exponentials(const bf16* x, std::int64_t n, float shift) noexcept;

// Computes y = e^(x - shift) and returns the sum. y may be x.
float exponentiate(const float* x, float* y, std::int64_t n, float shift) noexcept;

// Computes x = scale * e^(x - shift) - uniform.
void gradient_row(bf16* x, std::int64_t n, float shift, float scale, float uniform) noexcept;

}  // namespace lockstep::kernels::cpu::avx512
