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

// logits [rows, V]; labels [rows], < 0 means no label. Label smoothing e: target distribution
// (1 - e) on the label plus e / V everywhere. losses, [rows] in the device's memory, become those
// of each row; of a row without a label all are 0.
template <class T>
void softmax_xent_forward(CpuContext& ctx, HostMatrix<const T> logits,
                          HostView<const std::int32_t> labels, float label_smoothing,
                          LossSums* losses);
template <class T>
void softmax_xent_forward(CudaContext& ctx, CudaMatrix<const T> logits,
                          CudaView<const std::int32_t> labels, float label_smoothing,
                          LossSums* losses);

// The losses' sum is added to *sums, which is in the device's memory, and logits become
// d(loss)/d(logits) * state.loss_seed; rows without a label become zero.
template <class T>
void softmax_xent_forward_backward(CpuContext& ctx, const StepState* state, HostMatrix<T> logits,
                                   HostView<const std::int32_t> labels, float label_smoothing,
                                   LossSums* sums);
template <class T>
void softmax_xent_forward_backward(CudaContext& ctx, const StepState* state, CudaMatrix<T> logits,
                                   CudaView<const std::int32_t> labels, float label_smoothing,
                                   LossSums* sums);

}  // namespace lockstep::kernels
