// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/attention_batch.hpp"

// The kernels that attention_forward and attention_backward choose from.
namespace lockstep::kernels::cuda {

template <class T>
struct ForwardMatrices {
    CudaMatrix<const T> q, k, v;
    CudaMatrix<T> out;
    float* log_sum_exp;  // [heads, q_total]
};

// One number for each query and head: own kernels write [heads, q_total], cuDNN [q_total, heads].
struct Statistics {
    const float* data;
    std::int64_t head_stride, row_stride;

    __device__ __forceinline__ float at(int head, std::int64_t row) const {
        return data[head * head_stride + row * row_stride];
    }
};

template <class T>
struct BackwardMatrices {
    CudaMatrix<const T> q, k, v, out, d_out;
    Statistics log_sum_exp, delta;  // delta = rowsum(d_out out)
    CudaMatrix<T> dq, dk, dv;
};

// For every head_dim up to 256, every alignment; fp32 products.
constexpr int most_head_dim = 256;
template <class T>
void plain_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m);
template <class T>
void plain_backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m);

// By tensor cores: for 16-bit types, head_dim a multiple of 8 up to 128, and matrices whose rows
// can be read by vectors.
constexpr int most_mma_head_dim = 128;
template <class T>
void mma_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m);
template <class T>
void mma_backward_queries(CudaContext& ctx, const AttentionBatch& batch,
                          const BackwardMatrices<T>& m);
template <class T>
void mma_backward_keys(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m);

// delta of every query.
template <class T>
void attention_delta(CudaContext& ctx, const AttentionBatch& batch, CudaMatrix<const T> out,
                     CudaMatrix<const T> d_out, float* delta);

}  // namespace lockstep::kernels::cuda
