// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "runtime/kernels/activation.hpp"

namespace lockstep::kernels::cuda {

// 0.5 (1 + tanh u) = sigmoid(2 u): one exponential, and no cancellation for negative u.
constexpr float tanh_factor = 2.0f * 0.7978845608f;  // 2 sqrt(2 / pi)
constexpr float tanh_cubic = 0.044715f;
constexpr float sqrt_half = 0.7071067812f, inverse_sqrt_2pi = 0.3989422804f;

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

template <Activation f>
__device__ __forceinline__ float activation(float x) {
    if constexpr (f == Activation::relu) return x < 0.0f ? 0.0f : x;  // NaN stays
    if constexpr (f == Activation::gelu_tanh)
        return x * sigmoid(tanh_factor * (x + tanh_cubic * x * x * x));
    if constexpr (f == Activation::gelu_erf) return x * (0.5f + 0.5f * erff(x * sqrt_half));
}

template <Activation f>
__device__ __forceinline__ float activation_derivative(float x) {
    if constexpr (f == Activation::relu) return x > 0.0f ? 1.0f : 0.0f;
    if constexpr (f == Activation::gelu_tanh) {
        const float s = sigmoid(tanh_factor * (x + tanh_cubic * x * x * x));
        return s + x * s * (1.0f - s) * tanh_factor * (1.0f + 3.0f * tanh_cubic * x * x);
    }
    if constexpr (f == Activation::gelu_erf)
        return 0.5f + 0.5f * erff(x * sqrt_half) + x * inverse_sqrt_2pi * expf(-0.5f * x * x);
}

}  // namespace lockstep::kernels::cuda
