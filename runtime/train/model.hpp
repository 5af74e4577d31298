// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/loss_sums.hpp"
#include "runtime/kernels/step_state.hpp"
#include "runtime/train/batch.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::train {

// Told by backward which gradients are final. Ranges come front to back, without gaps, and end
// with the flat buffer's last element.
class GradientSink {
public:
    virtual ~GradientSink() = default;
    virtual void ready(std::size_t first, std::size_t count) = 0;
};

// For micro-batches whose gradients are not final yet: more follow in the same step.
class NoSink final : public GradientSink {
public:
    void ready(std::size_t, std::size_t) override {}
};

// Seconds that the model spent, for the metrics.
struct ModelSeconds {
    double forward = 0, backward = 0;
};

// A model as the trainer sees it. Weights and gradients live in the store it was built with, and
// `state` and `sums` in the memory of the same device.
class Model {
public:
    virtual ~Model() = default;

    virtual const ParameterTable& parameters() const noexcept = 0;
    // Writes the usual initial weights to the master; a pure function of the seed.
    virtual void initialize(std::uint64_t seed) = 0;
    // Adds the gradients of the loss *sum*, times state->loss_seed, and the loss to *sums. The
    // batch is not empty.
    virtual void train(const Batch& batch, const kernels::StepState* state, kernels::LossSums* sums,
                       GradientSink& sink) = 0;
    // Teacher-forced; no dropout, no label smoothing in `loss`. Adds to *sums.
    virtual void evaluate(const Batch& batch, kernels::LossSums* sums) = 0;
    virtual ModelSeconds take_seconds() noexcept = 0;
    virtual std::size_t peak_activation_bytes() const noexcept = 0;
};

}  // namespace lockstep::train
