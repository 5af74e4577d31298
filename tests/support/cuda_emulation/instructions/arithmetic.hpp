// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cmath>

// The emulated counterpart of runtime/kernels/cuda/instructions_ptx/instructions/arithmetic.hpp.
namespace lockstep::kernels::cuda {

inline float power_of_2(float x) {
    const float power = std::exp2(x);
    return std::fpclassify(power) == FP_SUBNORMAL ? 0.0f : power;
}

}  // namespace lockstep::kernels::cuda
