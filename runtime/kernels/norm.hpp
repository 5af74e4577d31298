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

constexpr float layer_norm_epsilon = 1e-5f;

// Computes the layer norm of a residual sum: sum = x + dropout(branch) and
// y = (sum - mean) * rstd * gamma + beta. An empty branch means sum = x (`sum` may then be empty,
// and backward needs x instead). All matrices are [rows, d]; mean and rstd are [rows] in fp32.
// branch may be sum; if there is a branch, y may be x. A call with x = sum and no branch calculates
// the same y, mean and rstd again, bit for bit.
template <class T>
void norm_forward(CpuContext& ctx, const Dropout& site, TokenPlaces<HostSpace> places,
                  HostMatrix<const T> x, HostMatrix<const T> branch, HostView<const T> gamma,
                  HostView<const T> beta, HostMatrix<T> sum, HostMatrix<T> y, HostView<float> mean,
                  HostView<float> rstd);
template <class T>
void norm_forward(CudaContext& ctx, const Dropout& site, TokenPlaces<CudaSpace> places,
                  CudaMatrix<const T> x, CudaMatrix<const T> branch, CudaView<const T> gamma,
                  CudaView<const T> beta, CudaMatrix<T> sum, CudaMatrix<T> y, CudaView<float> mean,
                  CudaView<float> rstd);

// This is the backward of norm_forward: dx = d(y -> sum) + d_sum. d_sum is the gradient that
// reached the sum past the norm (empty: there is none). d_branch is the dropout mask applied to dx
// (empty: not wanted). `into` says whether dgamma, dbeta [d] and dbias [d] (empty: not wanted) are
// overwritten or added to. dbias is the gradient of a bias that was added to the branch: the sums
// of the columns of d_branch, or of dx if d_branch is not wanted. dx may be dy or d_sum.
template <class T>
void norm_backward(CpuContext& ctx, const Dropout& site, TokenPlaces<HostSpace> places,
                   HostMatrix<const T> dy, HostMatrix<const T> d_sum, HostMatrix<const T> sum,
                   HostView<const float> mean, HostView<const float> rstd, HostView<const T> gamma,
                   HostMatrix<T> dx, HostMatrix<T> d_branch, HostView<float> dgamma,
                   HostView<float> dbeta, HostView<float> dbias, Into into);
template <class T>
void norm_backward(CudaContext& ctx, const Dropout& site, TokenPlaces<CudaSpace> places,
                   CudaMatrix<const T> dy, CudaMatrix<const T> d_sum, CudaMatrix<const T> sum,
                   CudaView<const float> mean, CudaView<const float> rstd, CudaView<const T> gamma,
                   CudaMatrix<T> dx, CudaMatrix<T> d_branch, CudaView<float> dgamma,
                   CudaView<float> dbeta, CudaView<float> dbias, Into into);

// Computes sum = x + dropout(branch), the residual if no norm follows. sum may be x.
template <class T>
void residual_forward(CpuContext& ctx, const Dropout& site, TokenPlaces<HostSpace> places,
                      HostMatrix<const T> x, HostMatrix<const T> branch, HostMatrix<T> sum);
template <class T>
void residual_forward(CudaContext& ctx, const Dropout& site, TokenPlaces<CudaSpace> places,
                      CudaMatrix<const T> x, CudaMatrix<const T> branch, CudaMatrix<T> sum);

// Computes y += x elementwise.
template <class T>
void add(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<T> y);
template <class T>
void add(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<T> y);

}  // namespace lockstep::kernels
