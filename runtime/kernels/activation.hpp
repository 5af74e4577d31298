// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/into.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// gelu_tanh is GPT-2's 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). gelu_erf is the exact
// x * Phi(x), which ParlAI calls `gelu`. silu is x * sigmoid(x).
enum class Activation { relu, gelu_tanh, gelu_erf, silu };

// Computes y = dropout(f(x)). Backward needs x, the value before the activation; therefore y may be
// x only if no backward follows or if f is relu.
template <class T>
void activation_forward(CpuContext& ctx, Activation f, const Dropout& site,
                        TokenCoordinates<HostSpace> coordinates, HostMatrix<const T> x,
                        HostMatrix<T> y);
template <class T>
void activation_forward(CudaContext& ctx, Activation f, const Dropout& site,
                        TokenCoordinates<CudaSpace> coordinates, CudaMatrix<const T> x,
                        CudaMatrix<T> y);

// Computes dx = f'(x) * mask(dy). db [cols] is the gradient of a bias that was added to x: the sums
// of dx's columns are written or added to it, as `into` says. dx may be dy.
template <class T, class Space>
struct ActivationBackward {
    Activation f;
    Dropout dropout = {};
    TokenCoordinates<Space> coordinates = {};
    MatrixView<const T, Space> x, dy;
    MatrixView<T, Space> dx;
    View<float, Space> db;
    Into into;
};
template <class T>
void activation_backward(CpuContext& ctx, const ActivationBackward<T, HostSpace>& operands);
template <class T>
void activation_backward(CudaContext& ctx, const ActivationBackward<T, CudaSpace>& operands);

// The same gradient for relu, computed from forward's y: dropped elements are zero in y, so neither
// x nor the mask is needed. dx may be dy.
template <class T, class Space>
struct ReluBackward {
    Dropout dropout = {};
    MatrixView<const T, Space> y, dy;
    MatrixView<T, Space> dx;
    View<float, Space> db;
    Into into;
};
template <class T>
void relu_backward(CpuContext& ctx, const ReluBackward<T, HostSpace>& operands);
template <class T>
void relu_backward(CudaContext& ctx, const ReluBackward<T, CudaSpace>& operands);

}  // namespace lockstep::kernels
