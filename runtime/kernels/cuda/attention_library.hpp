// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/attention_kernels.hpp"

// Attention by cuDNN. A build that does not find cuDNN's frontend has none: then nothing is taken.
namespace lockstep::kernels::cuda {

// CudaContext::cached<AttentionSettings>() of a context that is to do without the library.
enum class AttentionLibrary { where_possible, never };
struct AttentionSettings {
    AttentionLibrary library = AttentionLibrary::where_possible;
};

// For bf16 and fp16 matrices that tensor cores can take. False: the library does not take the batch
// (attention dropout, an unknown head, no such GPU, no library) and nothing was done. It writes the
// log-sum-exp as [q_total, heads].
template <class T>
bool library_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m);

// Whether library_forward takes these matrices, hence how log-sum-exp lies.
template <class T>
bool library_takes_forward(CudaContext& ctx, const AttentionBatch& batch,
                           const ForwardMatrices<T>& m);

// Taken only with the same bits at every run, and without memory for all scores.
template <class T>
bool library_backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m);

}  // namespace lockstep::kernels::cuda
