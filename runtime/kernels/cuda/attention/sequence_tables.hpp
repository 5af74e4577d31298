// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/attention/attention_kernels.hpp"

// What a library wants to know of a ragged batch, made on the device, and what it leaves unwritten.
namespace lockstep::kernels::cuda {

// Each sequence's lengths, and where its rows begin in each of up to 9 tensors, in elements. Arrays
// for `padded` sequences, of which those past the batch's are empty.
struct SequenceTables {
    static constexpr int max_tensors = 9;

    std::int32_t *q_lengths, *k_lengths;  // [padded]
    std::int64_t* offsets;                // [tensors, padded + 1]
    int padded, tensors;
    Side sides[max_tensors];
    std::int64_t strides[max_tensors];  // of rows
};
void fill_sequence_tables(CudaContext& ctx, const AttentionBatch& batch,
                          const SequenceTables& tables);

// Zeros in the filler rows of m, and in the rows of sequences whose other side is empty.
template <class T>
void clear_unattended(CudaContext& ctx, const AttentionBatch& batch, Side side, CudaMatrix<T> m);

// The same in all that a library has written; log-sum-exp lies as [q_total, heads].
template <class T>
void clear_unattended(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m);
template <class T>
void clear_unattended(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m);

}  // namespace lockstep::kernels::cuda
