// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/kernels/cpu/dropout_mask.hpp"

// The parts of attention that work on one row. Compiled for several instruction sets and chosen at
// run time. Rows have room for a multiple of `lanes` elements; what lies past n may be overwritten.
namespace lockstep::kernels::cpu::rows {

constexpr int lanes = 16;
constexpr int round_up(int n) noexcept { return (n + lanes - 1) / lanes * lanes; }

float maximum(const float* x, int n);
float dot(const float* x, const float* y, int n);
float dot(const bf16* x, const float* y, int n);
float dot(const bf16* x, const bf16* y, int n);
void scale(float* x, int n, float factor);
// y += factor * x
void add_scaled(const float* x, float factor, float* y, int n);
void add_scaled(const bf16* x, float factor, float* y, int n);
void convert(const bf16* x, float* y, int n);
void convert(const float* x, float* y, int n);
void convert(const float* x, bf16* y, int n);
void convert(const bf16* x, bf16* y, int n);

// x = exp(x * factor - shift) for the first n, zero up to round_up(columns); returns the sum.
float exponentials(float* x, int n, int columns, float factor, float shift);

// x *= factors
void multiply(float* x, const float* factors, int n);

// Through the softmax: ds = p * (dp * factors - delta) * scale, written over dp; then p *= factors.
// `factors` may be null: all one.
void softmax_backward(float* p, float* dp, const float* factors, int n, float delta, float scale);

}  // namespace lockstep::kernels::cpu::rows
