// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;

constexpr float layer_norm_epsilon = 1e-5f;

// Layer norm of a residual sum: sum = x + dropout(branch); y = (sum - mean) * rstd * gamma + beta.
// An empty branch means sum = x (then `sum` may be empty and x is what backward needs).
// All matrices [rows, d]; mean, rstd [rows] in fp32; branch may be sum.
template <class T>
void norm_forward(CpuContext& ctx, const Dropout& site, TokenPlaces<HostSpace> places,
                  HostMatrix<const T> x, HostMatrix<const T> branch, HostView<const T> gamma,
                  HostView<const T> beta, HostMatrix<T> sum, HostMatrix<T> y,
                  HostView<float> mean, HostView<float> rstd);

// Backward of the above. dx = d(y -> sum) + d_sum, where d_sum is the gradient that reached the sum
// past the norm (empty: none); d_branch = dropout mask applied to dx (empty: not wanted).
// dgamma, dbeta [d] accumulate. dx may be dy or d_sum.
template <class T>
void norm_backward(CpuContext& ctx, const Dropout& site, TokenPlaces<HostSpace> places,
                   HostMatrix<const T> dy, HostMatrix<const T> d_sum, HostMatrix<const T> sum,
                   HostView<const float> mean, HostView<const float> rstd,
                   HostView<const T> gamma, HostMatrix<T> dx, HostMatrix<T> d_branch,
                   HostView<float> dgamma, HostView<float> dbeta);

// sum = x + dropout(branch): the residual where no norm follows. sum may be x.
template <class T>
void residual_forward(CpuContext& ctx, const Dropout& site, TokenPlaces<HostSpace> places,
                      HostMatrix<const T> x, HostMatrix<const T> branch, HostMatrix<T> sum);

// y += x, elementwise.
template <class T>
void add(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<T> y);

}  // namespace lockstep::kernels
