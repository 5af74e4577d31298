// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;

// Sums over the labelled tokens of a batch.
struct LossSums {
    double loss = 0;      // what is minimised; with label smoothing
    double nll = 0;       // negative log-likelihood: perplexity = exp(nll / tokens)
    double tokens = 0;
    double correct = 0;   // tokens whose most likely entry (lowest index on ties) is the label

    LossSums& operator+=(const LossSums& other) noexcept {
        loss += other.loss;
        nll += other.nll;
        tokens += other.tokens;
        correct += other.correct;
        return *this;
    }
};

// logits [rows, V]; labels [rows], < 0 means no label. Label smoothing e: target distribution
// (1 - e) on the label plus e / V everywhere.
template <class T>
LossSums softmax_xent_forward(CpuContext& ctx, HostMatrix<const T> logits,
                              HostView<const std::int32_t> labels, float label_smoothing);

// The same, and logits become d(loss)/d(logits) * state.loss_seed; rows without a label become zero.
template <class T>
LossSums softmax_xent_forward_backward(CpuContext& ctx, const StepState* state,
                                       HostMatrix<T> logits, HostView<const std::int32_t> labels,
                                       float label_smoothing);

}  // namespace lockstep::kernels
