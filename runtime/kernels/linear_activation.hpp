// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/activation.hpp"

namespace lockstep::kernels {

// These functions compute a linear layer and the activation that follows it. On GPUs they are one
// kernel if cuBLASLt offers exactly this pair: for relu and gelu_tanh without dropout. On CPUs relu
// and its dropout are part of the product where that is of own code in bf16.

// An activation that follows a linear layer.
template <class Space>
struct ActivationSite {
    Activation f;
    Dropout dropout;
    TokenCoordinates<Space> coordinates;
};

// Computes hidden = x w^T + bias and y = dropout(f(hidden)). For relu, hidden may be y, because
// backward needs only y; hidden is undefined then.
template <class T, class Space>
struct LinearActivationForward {
    MatrixView<const T, Space> x, w;
    View<const T, Space> bias = {};
    ActivationSite<Space> site;
    MatrixView<T, Space> hidden, y;
};
template <class T>
void linear_activation_forward(CpuContext& ctx,
                               const LinearActivationForward<T, HostSpace>& operands);
template <class T>
void linear_activation_forward(CudaContext& ctx,
                               const LinearActivationForward<T, CudaSpace>& operands);

// Computes the gradient of hidden from dz, the gradient of the linear layer z = y w^T that follows:
// d_hidden = f'(hidden) * mask(dz w). db is the gradient of hidden's bias: the sums of d_hidden's
// columns are written or added to it, as `into` says.
template <class T, class Space>
struct LinearActivationBackward {
    MatrixView<const T, Space> dz, w;
    ActivationSite<Space> site;
    MatrixView<const T, Space> hidden, y;
    MatrixView<T, Space> d_hidden;
    View<float, Space> db;
    Into into;
};
template <class T>
void linear_activation_backward(CpuContext& ctx,
                                const LinearActivationBackward<T, HostSpace>& operands);
template <class T>
void linear_activation_backward(CudaContext& ctx,
                                const LinearActivationBackward<T, CudaSpace>& operands);

}  // namespace lockstep::kernels
