// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/linear_activation.hpp"
#include "runtime/kernels/small_products.hpp"

namespace lockstep::kernels {

// relu's derivative as a mask: the product before relu writes one bit for each value, and in
// backward the product after relu applies the bits. This is used on GPUs, and only for matrices so
// small that launches cost more than the work: the product for the weight's gradient then also
// calculates the sums that are the bias's gradient.

// Returns how many bytes a row of the mask of [rows, cols] values of T has; 0: use
// linear_activation.hpp instead.
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

// Calculates y = relu(x w^T + bias) and its mask. Returns false without doing anything if the mask
// has no columns, if this is not known to be faster on the GPU (linear_activation.hpp), or if the
// library cannot do it.
template <class T>
bool linear_relu_forward(CpuContext&, HostMatrix<const T>, HostMatrix<const T>, HostView<const T>,
                         HostMatrix<T>, HostMatrix<std::uint8_t>) {
    return false;
}
template <class T>
bool linear_relu_forward(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<const T> w,
                         CudaView<const T> bias, CudaMatrix<T> y, CudaMatrix<std::uint8_t> mask);

// Calculates d_hidden = mask(dz w), for the linear layer z = y w^T that follows. Returns false if
// it did nothing.
template <class T>
bool linear_relu_backward(CpuContext&, HostMatrix<const T>, HostMatrix<const T>,
                          HostMatrix<const std::uint8_t>, HostMatrix<T>) {
    return false;
}
template <class T>
bool linear_relu_backward(CudaContext& ctx, CudaMatrix<const T> dz, CudaMatrix<const T> w,
                          CudaMatrix<const std::uint8_t> mask, CudaMatrix<T> d_hidden);

}  // namespace lockstep::kernels
