// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/kernels/cpu/primitives/dropout_mask.hpp"
#include "runtime/kernels/cpu/primitives/norm_operands.hpp"

// These functions do the work of those of the same names in norm_rows.hpp beside this folder, whose
// contracts they have. They need usable().
namespace lockstep::kernels::cpu::avx512 {

Moments norm_row(const bf16* x, const bf16* gamma, const bf16* beta, float epsilon, bf16* y,
                 std::int64_t d) noexcept;

void residual_row(const RowMask& mask, const bf16* x, const bf16* branch, bf16* sum,
                  std::int64_t d) noexcept;

void norm_backward_row(const RowMask& mask, const NormGradients<bf16>& row, Moments moments,
                       std::int64_t d) noexcept;

}  // namespace lockstep::kernels::cpu::avx512
