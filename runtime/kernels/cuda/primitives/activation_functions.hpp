// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "runtime/kernels/activation.hpp"
#include "runtime/kernels/cuda/primitives/fast_math.hpp"

// T is the type that results are stored as; see fast_math.hpp.
namespace lockstep::kernels::cuda {

// gelu_tanh uses 0.5 (1 + tanh u) = sigmoid(2 u): one exponential, and no cancellation for
// negative u.
constexpr float tanh_factor = 2.0f * 0.7978845608f;  // 2 sqrt(2 / pi)
constexpr float tanh_cubic = 0.044715f;
constexpr float sqrt_half = 0.7071067812f, inverse_sqrt_2pi = 0.3989422804f;

template <class T>
__device__ __forceinline__ float sigmoid(float x) {
    return inverse<T>(1.0f + exponential<T>(-x));
}

// The distribution function of the normal distribution at x, and its density there times
// sqrt(2 pi).
struct Normal {
    float up_to, density;
};
template <class T>
__device__ __forceinline__ Normal normal(float x) {
    const float density = exponential<T>(-0.5f * (x * x));
    if constexpr (sizeof(T) == 4) {
        return {0.5f + 0.5f * erff(x * sqrt_half), density};
    } else {
        // This is formula 7.1.26 of Abramowitz and Stegun; its error is below 1e-7.
        const float t = fast_inverse(1.0f + 0.3275911f * sqrt_half * fabsf(x));
        const float tail =
            density * t *
            (0.127414796f +
             t * (-0.142248368f + t * (0.7107068705f + t * (-0.7265760135f + t * 0.5307027145f))));
        return {x < 0.0f ? tail : 1.0f - tail, density};
    }
}

template <Activation f, class T = float>
__device__ __forceinline__ float activation(float x) {
    if constexpr (f == Activation::relu) return x < 0.0f ? 0.0f : x;  // NaN stays
    if constexpr (f == Activation::gelu_tanh)
        return x * sigmoid<T>(x * (tanh_factor + tanh_factor * tanh_cubic * (x * x)));
    if constexpr (f == Activation::gelu_erf) return x * normal<T>(x).up_to;
    if constexpr (f == Activation::silu) return x * sigmoid<T>(x);
}

template <Activation f, class T = float>
__device__ __forceinline__ float activation_derivative(float x) {
    if constexpr (f == Activation::relu) return x > 0.0f ? 1.0f : 0.0f;
    if constexpr (f == Activation::gelu_tanh) {
        const float s = sigmoid<T>(x * (tanh_factor + tanh_factor * tanh_cubic * (x * x)));
        return s + s * (1.0f - s) * x * (tanh_factor + 3.0f * tanh_factor * tanh_cubic * (x * x));
    }
    if constexpr (f == Activation::gelu_erf) {
        const Normal n = normal<T>(x);
        return n.up_to + x * inverse_sqrt_2pi * n.density;
    }
    if constexpr (f == Activation::silu) {
        const float s = sigmoid<T>(x);
        return s + s * (1.0f - s) * x;
    }
}

}  // namespace lockstep::kernels::cuda
