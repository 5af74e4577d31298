// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cmath>

// This is the emulated counterpart of
// runtime/kernels/cuda/instructions_ptx/instructions/arithmetic.hpp.
namespace lockstep::kernels::cuda {

inline float without_subnormals(float x) {
    return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
inline float power_of_2(float x) { return without_subnormals(std::exp2(x)); }
inline float fast_inverse(float x) { return without_subnormals(1.0f / without_subnormals(x)); }

}  // namespace lockstep::kernels::cuda
