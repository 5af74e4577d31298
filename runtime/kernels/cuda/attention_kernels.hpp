// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/attention_tile.hpp"

// The kernels that attention_forward and attention_backward choose from.
namespace lockstep::kernels::cuda {

template <class T>
struct ForwardMatrices {
    CudaMatrix<const T> q, k, v;
    CudaMatrix<T> out;
    float* log_sum_exp;  // [heads, q_total]
};

template <class T>
struct BackwardMatrices {
    CudaMatrix<const T> q, k, v, out, d_out;
    const float *log_sum_exp, *delta;  // [heads, q_total]; delta = rowsum(d_out out)
    CudaMatrix<T> dq, dk, dv;
};

// For every head_dim up to 256, every alignment; fp32 products.
constexpr int most_head_dim = 256;
template <class T>
void plain_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m);
template <class T>
void plain_backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m);

// delta of every query.
template <class T>
void attention_delta(CudaContext& ctx, const AttentionBatch& batch, CudaMatrix<const T> out,
                     CudaMatrix<const T> d_out, float* delta);

}  // namespace lockstep::kernels::cuda
