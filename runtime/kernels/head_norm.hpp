// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/into.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Norms each head by itself: y = T(x * rstd) * gamma, where rstd = 1 / sqrt(mean(x^2) + epsilon) is
// that of a head's columns. x and y are [rows, heads * head_dim] and gamma is [head_dim], the same
// for all heads; rstd is [rows * heads] in fp32, the heads of a row side by side. y may be x.
template <class T, class Space>
struct HeadNormForward {
    float epsilon;
    int head_dim;
    MatrixView<const T, Space> x;
    View<const T, Space> gamma;
    MatrixView<T, Space> y;
    View<float, Space> rstd;
};
template <class T>
void head_norm_forward(CpuContext& ctx, const HeadNormForward<T, HostSpace>& operands);
template <class T>
void head_norm_forward(CudaContext& ctx, const HeadNormForward<T, CudaSpace>& operands);

// This is the backward of head_norm_forward, from its x. `into` says whether dgamma [head_dim], the
// sum over rows and heads, is overwritten or added to. dx may be dy.
template <class T, class Space>
struct HeadNormBackward {
    int head_dim;
    MatrixView<const T, Space> dy, x;
    View<const float, Space> rstd;
    View<const T, Space> gamma;
    MatrixView<T, Space> dx;
    View<float, Space> dgamma;
    Into into;
};
template <class T>
void head_norm_backward(CpuContext& ctx, const HeadNormBackward<T, HostSpace>& operands);
template <class T>
void head_norm_backward(CudaContext& ctx, const HeadNormBackward<T, CudaSpace>& operands);

}  // namespace lockstep::kernels
