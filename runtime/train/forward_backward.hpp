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

// Receives the part of a tied embedding table's gradient that comes from the input. Token t's row
// is row slots[t] of `sums`, [count, d], which has as many columns as the table. The memory is the
// model's device's.
struct InputRows {
    const std::int32_t* slots = nullptr;  // one for each token of the vocabulary
    float* sums = nullptr;                // null: add to the table's own gradient
    std::int64_t count = 0;
};

// The model tells this which weights it is about to read.
class WeightSource {
public:
    virtual ~WeightSource() = default;
    // The model calls this before it reads the weights of a block, which begins with element
    // `first` of the flat buffer: in forward and in an evaluation from the last block of the buffer
    // to the first, in backward from the first to the last one. The weights are there for what is
    // queued until two other blocks are needed; those of the last block stay for the whole pass.
    virtual void need(std::size_t /*first*/) {}
    // Takes part in an evaluation of other ranks without rows of its own.
    virtual void pass() {}
};

// The model also tells a sink which gradients are final. The ranges come front to back, without
// gaps, and end with the flat buffer's last element.
class GradientSink : public WeightSource {
public:
    // The model calls this before it writes the first gradient. If gradients are one flat buffer,
    // forward may have written activations there already (model/blocks/lent_gradients.hpp), so that
    // their memory must be free when train() is called.
    virtual void begin_backward() {}
    // The model calls this before the first ready(): a tied table now has its gradient from the
    // loss. Returns where the gradient from the input is added.
    virtual InputRows loss_done() { return {}; }
    virtual void ready(std::size_t first, std::size_t count) = 0;
    // Tells whether work starts when the gradients before `end` are final. If not, the model may
    // report them later, together with others.
    virtual bool waits_for(std::size_t /*end*/) const { return true; }
};

// This sink is for micro-batches that others of the same step follow: their gradients are not final
// yet.
class NoSink final : public GradientSink {
public:
    void ready(std::size_t, std::size_t) override {}
    bool waits_for(std::size_t) const override { return false; }
};

// Holds the times in which the model worked, for the metrics.
struct ModelSpans {
    std::vector<device::Span> forward, backward;
};

// Describes a batch that the device can read. train() queues the same work at the same addresses
// for any two batches whose UploadedShapes are equal; only the values differ.
struct UploadedShape : BatchShape {
    enum class Labels : std::int8_t { given, following };  // following: calculated from the tokens
    Labels labels = Labels::given;
    std::int64_t moves = 0;  // how often the memory of train() has moved so far

    auto operator<=>(const UploadedShape&) const = default;
};

// A model as the trainer sees it. The store with which it was built owns weights and gradients;
// `state` and `sums` lie in the memory of the same device. Usage:
//
//     auto model = model::make_model(config, store, context);
//     model->reserve(activation_bytes);
//     model->upload(batch);
//     model->train(&step->state, &step->batch, Into::overwrite, sink);
//     const ModelSpans spans = model->take_spans();
class ForwardBackward {
public:
    virtual ~ForwardBackward() = default;

    virtual const ParameterTable& parameters() const noexcept = 0;
    // Allocates the memory of a step with this many bytes of activations of their own. Call it
    // before the first batch.
    virtual void reserve(std::size_t activation_bytes) = 0;
    // Copies a batch to the device. The batch must not be empty and must outlive the next train().
    virtual UploadedShape upload(const Batch& batch) = 0;
    // Runs forward and backward on the uploaded batch. The gradients of the loss *sum*, times
    // state->loss_seed, overwrite those of all parameters or are added to them, as `into` says. The
    // loss is added to *sums. Meanwhile overwritten gradients and the gaps of a flat buffer hold
    // undefined values. When the sink is told of a range, its gradients are final and its gaps are
    // zeros.
    virtual void train(const kernels::StepState* state, kernels::LossSums* sums, kernels::Into into,
                       GradientSink& sink) = 0;
    // Evaluates with the labels as input, without dropout and without label smoothing in `loss`.
    // Writes each token's values to losses, [target total]; a token without a label gets 0.
    virtual void evaluate(const Batch& batch, kernels::LossSums* losses, WeightSource& weights) = 0;
    // Does so with weights that are there.
    void evaluate(const Batch& batch, kernels::LossSums* losses) {
        WeightSource all_there;
        evaluate(batch, losses, all_there);
    }
    // Returns the spans since the last call.
    virtual ModelSpans take_spans() = 0;
    // Returns the most memory of their own that the activations of a micro-batch have taken.
    virtual std::size_t peak_activation_bytes() const noexcept = 0;
};

}  // namespace lockstep::train
