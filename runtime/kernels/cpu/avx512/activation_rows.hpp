// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"

// Rows of activations in bf16. These functions need usable().
namespace lockstep::kernels::cpu::avx512 {

// Computes dx = dy * scale where y is positive, otherwise 0, and adds dx to sums.
void relu_backward_row(const bf16* y, const bf16* dy, float scale, bf16* dx, float* sums,
                       std::int64_t d) noexcept;

// Computes GPT-2's gelu (Activation::gelu_tanh) y of x.
void gelu_row(const bf16* x, bf16* y, std::int64_t d) noexcept;

// Computes dx = dy * the derivative of that gelu at x, and adds dx to sums.
void gelu_backward_row(const bf16* x, const bf16* dy, bf16* dx, float* sums,
                       std::int64_t d) noexcept;

}  // namespace lockstep::kernels::cpu::avx512
