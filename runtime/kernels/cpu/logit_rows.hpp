// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/core/bf16.hpp"

// The parts of the cross entropy that work on a row of n logits. They are compiled once per
// instruction set, and those with exponentials are by hand for AVX-512 with the instructions for
// bf16.
namespace lockstep::kernels::cpu {

// What a row of logits says.
struct RowStatistics {
    float largest = -std::numeric_limits<float>::infinity();
    float exponentials = 0;  // sum of e^(x - largest)
    float sum = 0;
};
RowStatistics statistics(const float* x, std::int64_t n);
RowStatistics statistics(const bf16* x, std::int64_t n);

// Returns a row's statistics without the sum of exponentials.
RowStatistics largest_and_sum(const float* x, std::int64_t n);

// Computes y = e^(x - largest) and returns the sum; y may be x. If `largest` is -infinity, 0 stands
// for it, because -inf - -inf would be NaN.
float exponentiate(const float* x, float* y, std::int64_t n, float largest);

// Computes x = scale * e^(x - largest) - uniform.
void gradient_row(bf16* x, std::int64_t n, float largest, float scale, float uniform);

// Does the same in a row that holds e^(x - largest) already.
void gradient_row(float* x, std::int64_t n, float largest, float scale, float uniform);

// Computes x = x - largest - log_sum.
void subtract(float* x, std::int64_t n, float largest, float log_sum);

}  // namespace lockstep::kernels::cpu
