// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/activation.hpp"

namespace lockstep::kernels {

// These functions compute a linear layer and the activation that follows it. On GPUs they are one
// kernel if cuBLASLt offers exactly this pair: for relu and gelu_tanh without dropout.

// An activation that follows a linear layer.
template <class Space>
struct ActivationSite {
    Activation f;
    Dropout dropout;
    TokenPlaces<Space> places;
};

// Computes hidden = x w^T + bias and y = dropout(f(hidden)). For relu, hidden may be y, because
// backward needs only y; hidden is undefined then.
template <class T>
void linear_activation_forward(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> w,
                               HostView<const T> bias, const ActivationSite<HostSpace>& site,
                               HostMatrix<T> hidden, HostMatrix<T> y);
template <class T>
void linear_activation_forward(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> w,
                               CudaView<const T> bias, const ActivationSite<CudaSpace>& site,
                               CudaMatrix<T> hidden, CudaMatrix<T> y);

// Computes the gradient of hidden from dz, the gradient of the linear layer z = y w^T that follows:
// d_hidden = f'(hidden) * mask(dz w). db is the gradient of hidden's bias: the sums of d_hidden's
// columns are written or added to it, as `into` says.
template <class T>
void linear_activation_backward(CpuContext& ctx, HostMatrix<const T> dz, HostMatrix<const T> w,
                                const ActivationSite<HostSpace>& site, HostMatrix<const T> hidden,
                                HostMatrix<const T> y, HostMatrix<T> d_hidden, HostView<float> db,
                                Into into);
template <class T>
void linear_activation_backward(CudaContext& ctx, CudaMatrix<const T> dz, CudaMatrix<const T> w,
                                const ActivationSite<CudaSpace>& site, CudaMatrix<const T> hidden,
                                CudaMatrix<const T> y, CudaMatrix<T> d_hidden, CudaView<float> db,
                                Into into);

}  // namespace lockstep::kernels
