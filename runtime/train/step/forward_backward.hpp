// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "runtime/batch/batch.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "runtime/kernels/into.hpp"
#include "runtime/kernels/loss_sums.hpp"
#include "runtime/kernels/step_state.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// Rows for the gradient that a tied embedding table has from the input, in the memory of the
// model's device: token t's is row slots[t] of `sums`, [count, d], which has as many columns as the
// table.
struct InputRows {
    const std::int32_t* slots = nullptr;  // of each token of the vocabulary
    float* sums = nullptr;                // null: the rows are the table's own
    std::int64_t count = 0;
};

// Told by backward which gradients are final. Ranges come front to back, without gaps, and end
// with the flat buffer's last element.
class GradientSink {
public:
    virtual ~GradientSink() = default;
    // A tied table has its gradient from the loss, before anything is ready(). Returns where that
    // from the input is added.
    virtual InputRows loss_done() { return {}; }
    virtual void ready(std::size_t first, std::size_t count) = 0;
    // Whether something begins once the gradients before `end` are told of. Else they may be told
    // of later, together with others.
    virtual bool waits_for(std::size_t /*end*/) const { return true; }
};

// For micro-batches whose gradients are not final yet: more follow in the same step.
class NoSink final : public GradientSink {
public:
    void ready(std::size_t, std::size_t) override {}
    bool waits_for(std::size_t) const override { return false; }
};

// When the model worked, for the metrics.
struct ModelSpans {
    std::vector<device::Span> forward, backward;
};

// A batch where the device reads it. What train() queues for one is what it queued for another that
// is equal here: the same work at the same addresses, on other values.
struct UploadedShape : BatchShape {
    enum class Labels : std::int8_t { given, following };  // from the tokens
    Labels labels = Labels::given;
    std::int64_t moves = 0;  // of the memory that train() uses, so far

    auto operator<=>(const UploadedShape&) const = default;
};

// A model as the trainer sees it. Weights and gradients live in the store it was built with, and
// `state` and `sums` in the memory of the same device.
class ForwardBackward {
public:
    virtual ~ForwardBackward() = default;

    virtual const ParameterTable& parameters() const noexcept = 0;
    // Before the first batch: takes the memory of a step with so many bytes of activations.
    virtual void reserve(std::size_t activation_bytes) = 0;
    // Brings a batch, which is not empty and outlives the train() that follows, to the device.
    virtual UploadedShape upload(const Batch& batch) = 0;
    // Of the batch that was placed last: the gradients of the loss *sum*, times state->loss_seed,
    // overwrite those of all parameters or are added to them; the loss is added to *sums. Gaps
    // between parameters are not touched.
    virtual void train(const kernels::StepState* state, kernels::LossSums* sums, kernels::Into into,
                       GradientSink& sink) = 0;
    // Teacher-forced; no dropout, no label smoothing in `loss`. losses, [target total], become
    // those of each token; 0 where there is no label.
    virtual void evaluate(const Batch& batch, kernels::LossSums* losses) = 0;
    // Since the last call.
    virtual ModelSpans take_spans() = 0;
    virtual std::size_t peak_activation_bytes() const noexcept = 0;
};

}  // namespace lockstep::train
