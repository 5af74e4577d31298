// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/primitives/index.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"

namespace lockstep::kernels::cuda {

namespace {

constexpr int threads = 256;
constexpr int lanes = 8;  // lanes per head of a query; they read 128 bytes at once

template <int width, class T>
__global__ void __launch_bounds__(threads)
    delta_kernel(AttentionBatch batch, CudaMatrix<const T> out, CudaMatrix<const T> d_out,
                 float* delta) {
    const std::int64_t pair = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / lanes;
    const Cell at = vector_cell(pair, batch.heads, 1);
    // Shuffles need every lane, so lanes past the end do not return.
    const bool inside = at.row < batch.queries.offsets[batch.sequences];
    float sum = 0.0f;
    for (int c = static_cast<int>(threadIdx.x) % lanes * width; inside && c < batch.head_dim;
         c += lanes * width) {
        const std::int64_t column = at.col * batch.head_dim + c;
        float x[width], y[width];
        load(out.data + at.row * out.stride + column, x);
        load(d_out.data + at.row * d_out.stride + column, y);
#pragma unroll
        for (int j = 0; j < width; ++j) sum += x[j] * y[j];
    }
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance, lanes);
    if (inside && threadIdx.x % lanes == 0) delta[at.col * batch.queries.total + at.row] = sum;
}

}  // namespace

template <class T>
void attention_delta(CudaContext& ctx, const AttentionBatch& batch, CudaMatrix<const T> out,
                     CudaMatrix<const T> d_out, float* delta) {
    const bool vectors = by_vectors(out.data, batch.head_dim, out.stride) &&
                         by_vectors(d_out.data, batch.head_dim, d_out.stride);
    const Grid grid(blocks_for(out.rows * batch.heads * lanes, threads), threads);
    launch(ctx, vectors ? delta_kernel<vector_width<T>, T> : delta_kernel<1, T>, grid, batch, out,
           d_out, delta);
}

template void attention_delta(CudaContext&, const AttentionBatch&, CudaMatrix<const float>,
                              CudaMatrix<const float>, float*);
template void attention_delta(CudaContext&, const AttentionBatch&, CudaMatrix<const bf16>,
                              CudaMatrix<const bf16>, float*);
template void attention_delta(CudaContext&, const AttentionBatch&, CudaMatrix<const fp16>,
                              CudaMatrix<const fp16>, float*);

}  // namespace lockstep::kernels::cuda
