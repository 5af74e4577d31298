// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/attention/attention_kernels.hpp"
#include "runtime/kernels/cuda/primitives/elementwise.hpp"

namespace lockstep::kernels::cuda {

namespace {

// Sums in the order of the heads.
template <class T>
struct SumOfHeads {
    static constexpr int vectors = 2;
    template <int width>
    struct Read {
        float sums[width];
    };

    int heads_per_key, head_dim;
    CudaMatrix<const T> of_heads;
    CudaMatrix<T> sum;

    template <int width>
    __device__ __forceinline__ Read<width> read(Cell cell) const {
        const auto column = static_cast<std::uint32_t>(cell.col);
        const auto d = static_cast<std::uint32_t>(head_dim);
        const T* from = at(
            of_heads, {cell.row, std::int64_t{column / d} * heads_per_key * head_dim + column % d});
        Read<width> r;
        load(from, r.sums);
        for (int head = 1; head < heads_per_key; ++head) {
            float values[width];
            load(from + head * head_dim, values);
#pragma unroll
            for (int j = 0; j < width; ++j) r.sums[j] += values[j];
        }
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(Cell cell, const Read<width>& r) const {
        store(at(sum, cell), r.sums);
    }
};

}  // namespace

template <class T>
void sum_shared_heads(CudaContext& ctx, const AttentionBatch& batch, CudaMatrix<const T> of_heads,
                      CudaMatrix<T> sum) {
    // A vector must not reach into the next head.
    const CudaMatrix<const T> head = of_heads.columns(0, batch.head_dim);
    elementwise(ctx, SumOfHeads<T>{batch.heads_per_key, batch.head_dim, of_heads, sum}, sum,
                of_heads, head);
}

template void sum_shared_heads(CudaContext&, const AttentionBatch&, CudaMatrix<const float>,
                               CudaMatrix<float>);
template void sum_shared_heads(CudaContext&, const AttentionBatch&, CudaMatrix<const bf16>,
                               CudaMatrix<bf16>);
template void sum_shared_heads(CudaContext&, const AttentionBatch&, CudaMatrix<const fp16>,
                               CudaMatrix<fp16>);

}  // namespace lockstep::kernels::cuda
