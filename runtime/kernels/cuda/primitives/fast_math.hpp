// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "instructions/arithmetic.hpp"

// These functions are as exact as T, the type that results are stored as, can show. A few
// instructions are enough for 16 bits, because rounding hides their errors of 2^-21. Some kernels
// would be limited by arithmetic instead of memory with the library's functions and exact
// divisions.
namespace lockstep::kernels::cuda {

template <class T>
__device__ __forceinline__ float exponential(float x) {
    constexpr float log2_e = 1.44269504088896f;
    if constexpr (sizeof(T) == 4)
        return expf(x);
    else
        return power_of_2(x * log2_e);
}

// Returns 1 / x.
template <class T>
__device__ __forceinline__ float inverse(float x) {
    if constexpr (sizeof(T) == 4)
        return 1.0f / x;
    else
        return fast_inverse(x);
}

}  // namespace lockstep::kernels::cuda
