// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/into.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

constexpr float layer_norm_epsilon = 1e-5f;

// layer: y = (sum - mean) * rstd * gamma + beta.
// rms: y = T(sum * rstd) * gamma, where rstd = 1 / sqrt(mean(sum^2) + epsilon). The normed value is
// rounded to T before it is multiplied, as in LLaMA. beta, mean and dbeta are empty then.
enum class NormKind : std::uint8_t { layer, rms };

// Computes the norm y of a residual sum = x + dropout(branch). An empty branch means sum = x (`sum`
// may then be empty, and backward needs x instead). All matrices are [rows, d]; mean and rstd are
// [rows] in fp32. branch may be sum; if there is a branch, y may be x. A call with x = sum and no
// branch calculates the same y, mean and rstd again, bit for bit.
template <class T, class Space>
struct NormForward {
    NormKind kind = NormKind::layer;
    float epsilon = layer_norm_epsilon;
    Dropout dropout = {};
    TokenCoordinates<Space> coordinates = {};
    MatrixView<const T, Space> x;
    MatrixView<const T, Space> branch = {};
    View<const T, Space> gamma, beta = {};
    MatrixView<T, Space> sum = {};
    MatrixView<T, Space> y;
    View<float, Space> mean = {}, rstd;
};
template <class T>
void norm_forward(CpuContext& ctx, const NormForward<T, HostSpace>& operands);
template <class T>
void norm_forward(CudaContext& ctx, const NormForward<T, CudaSpace>& operands);

// This is the backward of norm_forward: dx = d(y -> sum) + d_sum. d_sum is the gradient that
// reached the sum past the norm (empty: there is none). d_branch is the dropout mask applied to dx
// (empty: not wanted). `into` says whether dgamma, dbeta [d] and dbias [d] (empty: not wanted) are
// overwritten or added to. dbias is the gradient of a bias that was added to the branch: the sums
// of the columns of d_branch, or of dx if d_branch is not wanted. dx may be dy or d_sum.
template <class T, class Space>
struct NormBackward {
    NormKind kind = NormKind::layer;
    Dropout dropout = {};
    TokenCoordinates<Space> coordinates = {};
    MatrixView<const T, Space> dy;
    MatrixView<const T, Space> d_sum = {};
    MatrixView<const T, Space> sum;
    View<const float, Space> mean = {}, rstd;
    View<const T, Space> gamma;
    MatrixView<T, Space> dx;
    MatrixView<T, Space> d_branch = {};
    View<float, Space> dgamma, dbeta = {};
    View<float, Space> dbias = {};
    Into into;
};
template <class T>
void norm_backward(CpuContext& ctx, const NormBackward<T, HostSpace>& operands);
template <class T>
void norm_backward(CudaContext& ctx, const NormBackward<T, CudaSpace>& operands);

// Computes sum = x + dropout(branch), the residual if no norm follows. sum may be x.
template <class T>
void residual_forward(CpuContext& ctx, const Dropout& site, TokenCoordinates<HostSpace> coordinates,
                      HostMatrix<const T> x, HostMatrix<const T> branch, HostMatrix<T> sum);
template <class T>
void residual_forward(CudaContext& ctx, const Dropout& site,
                      TokenCoordinates<CudaSpace> coordinates, CudaMatrix<const T> x,
                      CudaMatrix<const T> branch, CudaMatrix<T> sum);

// Computes y += x elementwise.
template <class T>
void add(CpuContext& ctx, HostMatrix<const T> x, HostMatrix<T> y);
template <class T>
void add(CudaContext& ctx, CudaMatrix<const T> x, CudaMatrix<T> y);

}  // namespace lockstep::kernels
