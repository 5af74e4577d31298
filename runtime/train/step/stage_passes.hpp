// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/comm/communicator.hpp"
#include "runtime/core/error.hpp"
#include "runtime/train/forward_backward.hpp"

namespace lockstep::train {

// A stage of a model as its engine sees it: forward and backward of a micro-batch are two calls,
// and other micro-batches may come between them. What a stage gives to the next one, and gets back
// as a gradient, are rows, [target total, width]. Usage:
//
//     receive(stage.arriving(batch));                          // not in the first stage
//     send(stage.forward(slot, batch, &step->state));          // not in the last stage
//     receive(stage.arriving(batch));                          // not in the last stage
//     send(stage.backward(slot, &step->state, &step->batch, into));  // not in the first stage
template <class Space>
class StagePasses : public ForwardBackward {
public:
    using Rows = comm::Range<Space>;

    // Returns the memory to which a neighbour's rows of a micro-batch come. The next pass reads
    // them, and its result lies elsewhere.
    virtual Rows arriving(const Batch& batch) = 0;
    // Run a micro-batch whose activations are kept in the slot until backward ends. The batch must
    // outlive its backward. The rows that they return are valid until the next pass; those of the
    // last stage's forward and of the first one's backward are empty. `state`, `sums` and `into`
    // are as in train(); the last stage alone adds a loss.
    virtual Rows forward(std::size_t slot, const Batch& batch, const kernels::StepState* state) = 0;
    virtual Rows backward(std::size_t slot, const kernels::StepState* state,
                          kernels::LossSums* sums, kernels::Into into) = 0;
    // Evaluates as ForwardBackward::evaluate() does. The last stage alone writes losses.
    virtual Rows evaluate_rows(const Batch& batch, kernels::LossSums* losses) = 0;

    // A stage alone cannot do this.
    UploadedShape upload(const Batch&) final { return refuse<UploadedShape>(); }
    void train(const kernels::StepState*, kernels::LossSums*, kernels::Into, GradientSink&) final {
        refuse<int>();
    }
    void evaluate(const Batch&, kernels::LossSums*, WeightSource&) final { refuse<int>(); }

private:
    template <class Result>
    static Result refuse() {
        require(false, "a stage of a pipeline does not compute a model");
        return {};
    }
};

}  // namespace lockstep::train
