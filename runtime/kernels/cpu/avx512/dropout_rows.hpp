// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/kernels/cpu/primitives/dropout_mask.hpp"

namespace lockstep::kernels::cpu::avx512 {

// Computes y = x * mask for n elements, of which x[0] is column `first` of the mask's row, a
// multiple of 4. y may be x. Needs usable().
void dropout_row(const RowMask& mask, std::int64_t first, const bf16* x, bf16* y,
                 std::int64_t n) noexcept;

}  // namespace lockstep::kernels::cpu::avx512
