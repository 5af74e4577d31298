// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/kernels/cpu/primitives/dropout_mask.hpp"

// These functions are the parts of attention that work on one row. They are compiled for several
// instruction sets, and the best one is chosen at run time. Rows have room for a multiple of
// `lanes` elements; elements past n may be overwritten.
namespace lockstep::kernels::cpu::rows {

constexpr int lanes = 16;
constexpr int round_up(int n) noexcept { return (n + lanes - 1) / lanes * lanes; }

float maximum(const float* x, int n);
float dot(const float* x, const float* y, int n);
float dot(const bf16* x, const float* y, int n);
float dot(const bf16* x, const bf16* y, int n);
void scale(float* x, int n, float factor);
// Computes y += factor * x.
void add_scaled(const float* x, float factor, float* y, int n);
void add_scaled(const bf16* x, float factor, float* y, int n);
void convert(const bf16* x, float* y, int n);
void convert(const float* x, float* y, int n);
void convert(const float* x, bf16* y, int n);
void convert(const bf16* x, bf16* y, int n);

// Computes x = exp(x * factor - shift) for the first n elements, sets the rest up to
// round_up(columns) to zero, and returns the sum.
float exponentials(float* x, int n, int columns, float factor, float shift);

// Computes x *= factors.
void multiply(float* x, const float* factors, int n);

// Computes the backward of the softmax: ds = p * (dp * factors - delta) * scale is written to dp,
// then p *= factors. A null `factors` means that all factors are one.
void softmax_backward(float* p, float* dp, const float* factors, int n, float delta, float scale);

}  // namespace lockstep::kernels::cpu::rows
