// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/dtype.hpp"
#include "runtime/core/fp16.hpp"

namespace lockstep::tests {

using lockstep::Dtype;
using lockstep::dtype_of;

// Returns true if `actual` is close enough to `expected`. `actual` was computed in fp32 by adding
// `terms` values of about `magnitude`, and then stored as dtype. Rounding errors of a sum grow like
// the root of its length.
inline bool close(double actual, double expected, Dtype dtype, std::int64_t terms = 1,
                  double magnitude = 1) {
    const double stored = dtype == Dtype::fp32 ? 0x1p-22 : dtype == Dtype::bf16 ? 0x1p-8 : 0x1p-11;
    const double summed = 0x1p-21 * std::sqrt(static_cast<double>(terms)) * magnitude;
    return std::abs(actual - expected) <= stored * std::abs(expected) + summed;
}

}  // namespace lockstep::tests
