// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/loss_sums.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// logits is [rows, V]; labels is [rows], and a label < 0 means that the row has no label. Writes
// the sums of each row to losses [rows], in the device's memory; they are all 0 for a row without a
// label.
template <class T>
void softmax_xent_forward(CpuContext& ctx, HostMatrix<const T> logits,
                          HostView<const std::int32_t> labels, float label_smoothing,
                          LossSums* losses);
template <class T>
void softmax_xent_forward(CudaContext& ctx, CudaMatrix<const T> logits,
                          CudaView<const std::int32_t> labels, float label_smoothing,
                          LossSums* losses);

// Adds the losses to *sums, in the device's memory, and replaces logits by d(loss)/d(logits) *
// state.loss_seed. Rows without a label become zero.
template <class T>
void softmax_xent_forward_backward(CpuContext& ctx, const StepState* state, HostMatrix<T> logits,
                                   HostView<const std::int32_t> labels, const LossTerms& terms,
                                   LossSums* sums);
template <class T>
void softmax_xent_forward_backward(CudaContext& ctx, const StepState* state, CudaMatrix<T> logits,
                                   CudaView<const std::int32_t> labels, const LossTerms& terms,
                                   LossSums* sums);

// Turns one row of logits into log-probabilities, in place and on the calling thread alone. A logit
// of -infinity is a probability of 0; if all are, the row stays as it is. No logit may be NaN or
// +infinity.
void log_softmax(HostView<float> logits);

}  // namespace lockstep::kernels
