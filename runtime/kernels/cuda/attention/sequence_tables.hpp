// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/cuda/attention/attention_kernels.hpp"

// A library needs these tables of a ragged batch, which are made on the device. Rows that it does
// not write are cleared here.
namespace lockstep::kernels::cuda {

// The lengths of each sequence, and the offsets of its rows in each of up to 9 tensors, in
// elements. The arrays hold `padded` sequences; those past the batch's are empty.
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

// Sets the filler rows of m, and the rows of sequences whose other side is empty, to zero.
template <class T>
void clear_unattended(CudaContext& ctx, const AttentionBatch& batch, Side side, CudaMatrix<T> m);

// Does the same in all matrices that a library has written. log-sum-exp is [q_total, heads].
template <class T>
void clear_unattended(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m);
template <class T>
void clear_unattended(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m);

}  // namespace lockstep::kernels::cuda
