// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/activation.hpp"

namespace lockstep::kernels {

// Computes y [rows, n] = f(gate) * up, where x [rows, 2 n] is [gate | up]. y is rounded once.
// Backward needs x.
template <class T>
void gated_activation_forward(CpuContext& ctx, Activation f, HostMatrix<const T> x,
                              HostMatrix<T> y);
template <class T>
void gated_activation_forward(CudaContext& ctx, Activation f, CudaMatrix<const T> x,
                              CudaMatrix<T> y);

// Computes dx = [dy * up * f'(gate) | dy * f(gate)]. dx [rows, 2 n] may be x.
template <class T, class Space>
struct GatedActivationBackward {
    Activation f;
    MatrixView<const T, Space> x, dy;
    MatrixView<T, Space> dx;
};
template <class T>
void gated_activation_backward(CpuContext& ctx,
                               const GatedActivationBackward<T, HostSpace>& operands);
template <class T>
void gated_activation_backward(CudaContext& ctx,
                               const GatedActivationBackward<T, CudaSpace>& operands);

}  // namespace lockstep::kernels
