// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

namespace lockstep::kernels::cuda {

// Returns 2^x with one instruction, within 2 units in the last place. Subnormal results become
// zero.
__device__ __forceinline__ float power_of_2(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

// Returns 1 / x with one instruction, within 1 unit in the last place. Subnormal results become
// zero, and the inverse of a subnormal number is infinite.
__device__ __forceinline__ float fast_inverse(float x) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}

}  // namespace lockstep::kernels::cuda
