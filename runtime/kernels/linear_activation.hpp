// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/activation.hpp"

namespace lockstep::kernels {

// A linear layer and the activation that follows it: on GPUs one kernel where cuBLASLt computes
// exactly the two, which it does for relu and gelu_tanh where nothing is dropped.

// What follows the linear layer.
template <class Space>
struct ActivationSite {
    Activation f;
    Dropout dropout;
    TokenPlaces<Space> places;
};

// hidden = x w^T + bias; y = dropout(f(hidden)). For relu hidden may be y, as its backward needs y
// alone: hidden is undefined then.
template <class T>
void linear_activation_forward(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<const T> w,
                               HostView<const T> bias, const ActivationSite<HostSpace>& site,
                               HostMatrix<T> hidden, HostMatrix<T> y);
template <class T>
void linear_activation_forward(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> w,
                               CudaView<const T> bias, const ActivationSite<CudaSpace>& site,
                               CudaMatrix<T> hidden, CudaMatrix<T> y);

// The gradient of hidden from dz of the linear layer z = y w^T that follows:
// d_hidden = f'(hidden) * mask(dz w); db = or += the sums of its columns, hidden's bias's gradient.
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
