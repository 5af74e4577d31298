// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;

// gelu_tanh is GPT-2's 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); gelu_erf is the exact one,
// x * Phi(x), which ParlAI's `gelu` means.
enum class Activation { relu, gelu_tanh, gelu_erf };

// y = dropout(f(x)); x is the value before the activation and what backward needs. y may be x
// where no backward follows, and for relu.
template <class T>
void activation_forward(CpuContext& ctx, Activation f, const Dropout& site,
                        TokenPlaces<HostSpace> places, HostMatrix<const T> x, HostMatrix<T> y);

// dx = f'(x) * mask(dy). dx may be dy.
template <class T>
void activation_backward(CpuContext& ctx, Activation f, const Dropout& site,
                         TokenPlaces<HostSpace> places, HostMatrix<const T> x,
                         HostMatrix<const T> dy, HostMatrix<T> dx);

// The same for relu, from forward's y: what was dropped is zero there, so neither x nor the mask is
// needed. dx may be dy.
template <class T>
void relu_backward(CpuContext& ctx, const Dropout& site, HostMatrix<const T> y,
                   HostMatrix<const T> dy, HostMatrix<T> dx);

}  // namespace lockstep::kernels
