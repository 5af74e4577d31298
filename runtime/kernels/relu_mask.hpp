// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/linear_activation.hpp"
#include "runtime/kernels/small_products.hpp"

namespace lockstep::kernels {

// relu's derivative by a mask: the product before relu writes which values it lets through, one bit
// for each, and the product behind it, in backward, lets through the same. On GPUs, and only where
// matrices are so small that launches cost more than the work: the sums that are the bias's
// gradient then come with the product that makes the weight's.

// How many bytes a row of the mask of [rows, cols] values of T has; 0: go by linear_activation.hpp.
template <class T>
std::int64_t relu_mask_cols(CpuContext&, const ActivationSite<HostSpace>&, std::int64_t,
                            std::int64_t) {
    return 0;
}
template <class T>
std::int64_t relu_mask_cols(CudaContext&, const ActivationSite<CudaSpace>& site, std::int64_t rows,
                            std::int64_t cols) {
    const bool masked = site.f == Activation::relu && !site.dropout.active();
    return masked ? small_mask_cols<T>(rows, cols) : 0;
}

// y = relu(x w^T + bias) and its mask. False: nothing was done, since the mask has no columns, the
// GPU is not known to be the faster for it (linear_activation.hpp), or its library cannot.
template <class T>
bool linear_relu_forward(CpuContext&, HostMatrix<const T>, HostMatrix<const T>, HostView<const T>,
                         HostMatrix<T>, HostMatrix<std::uint8_t>) {
    return false;
}
template <class T>
bool linear_relu_forward(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> w,
                         CudaView<const T> bias, CudaMatrix<T> y, CudaMatrix<std::uint8_t> mask);

// d_hidden = mask(dz w), for the linear layer z = y w^T that follows. False: nothing was done.
template <class T>
bool linear_relu_backward(CpuContext&, HostMatrix<const T>, HostMatrix<const T>,
                          HostMatrix<const std::uint8_t>, HostMatrix<T>) {
    return false;
}
template <class T>
bool linear_relu_backward(CudaContext& ctx, CudaMatrix<const T> dz, CudaMatrix<const T> w,
                          CudaMatrix<const std::uint8_t> mask, CudaMatrix<T> d_hidden);

}  // namespace lockstep::kernels
