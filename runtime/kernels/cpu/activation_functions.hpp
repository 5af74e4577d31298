// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/activation.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"

// The activations and their derivatives at one value, for loops of vector code.
namespace lockstep::kernels::cpu {

// These are sqrt(2 / pi) and the coefficient of the cubic term in GPT-2's gelu.
constexpr float tanh_scale = 0.7978845608f, cubic = 0.044715f;
constexpr float sqrt_half = 0.7071067812f, inverse_sqrt_2pi = 0.3989422804f;

// Uses 0.5 (1 + tanh u) = sigmoid(2 u), which needs one exponential and has no cancellation for
// negative u.
template <Activation f>
[[gnu::always_inline]] inline float value(float x) {
    if constexpr (f == Activation::relu) return x < 0.0f ? 0.0f : x;  // NaN stays
    if constexpr (f == Activation::gelu_tanh)
        return x * sigmoid(2.0f * tanh_scale * (x + cubic * x * x * x));
    if constexpr (f == Activation::silu) return x * sigmoid(x);
    return x * (0.5f + 0.5f * error_function(x * sqrt_half));
}

template <Activation f>
[[gnu::always_inline]] inline float derivative(float x) {
    if constexpr (f == Activation::relu) return x > 0.0f ? 1.0f : 0.0f;
    if constexpr (f == Activation::gelu_tanh) {
        const float s = sigmoid(2.0f * tanh_scale * (x + cubic * x * x * x));
        return s + x * s * (1.0f - s) * 2.0f * tanh_scale * (1.0f + 3.0f * cubic * x * x);
    }
    if constexpr (f == Activation::silu) {
        const float s = sigmoid(x);
        return s + x * s * (1.0f - s);
    }
    return 0.5f + 0.5f * error_function(x * sqrt_half) +
           x * inverse_sqrt_2pi * exponential(-0.5f * x * x);
}

}  // namespace lockstep::kernels::cpu
