// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/kernels/cpu/primitives/dropout_mask.hpp"
#include "runtime/kernels/cpu/primitives/norm_operands.hpp"

// These functions are the parts of the norms and of residual sums that work on one row of d
// columns. They are compiled once per instruction set; those in bf16 are by hand for AVX-512 with
// the instructions for bf16, where subnormal results become zero.
namespace lockstep::kernels::cpu {

// Computes sum = x + branch * mask. sum may be x or branch.
void residual_row(const RowMask& mask, const float* x, const float* branch, float* sum,
                  std::int64_t d);
void residual_row(const RowMask& mask, const bf16* x, const bf16* branch, bf16* sum,
                  std::int64_t d);

// Computes y = (x - mean) * rstd * gamma + beta and returns the moments.
Moments norm_row(const float* x, const float* gamma, const float* beta, float epsilon, float* y,
                 std::int64_t d);
Moments norm_row(const bf16* x, const bf16* gamma, const bf16* beta, float epsilon, bf16* y,
                 std::int64_t d);

// Computes y = T(x * rstd) * gamma and returns rstd. y may be x.
float rms_norm_row(const float* x, const float* gamma, float epsilon, float* y, std::int64_t d);
float rms_norm_row(const bf16* x, const bf16* gamma, float epsilon, bf16* y, std::int64_t d);

// Computes the gradients of one row. d_branch is the rounded dx times the mask, rounded; without
// d_branch the mask is not used. dx may be dy or d_sum.
void norm_backward_row(const RowMask& mask, const NormGradients<float>& row, Moments moments,
                       std::int64_t d);
void norm_backward_row(const RowMask& mask, const NormGradients<bf16>& row, Moments moments,
                       std::int64_t d);

// The same for the rms norm; dbeta is not used.
void rms_norm_backward_row(const RowMask& mask, const NormGradients<float>& row, float rstd,
                           std::int64_t d);
void rms_norm_backward_row(const RowMask& mask, const NormGradients<bf16>& row, float rstd,
                           std::int64_t d);

}  // namespace lockstep::kernels::cpu
