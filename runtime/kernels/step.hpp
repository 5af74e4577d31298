// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/view.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/exact_sum.hpp"
#include "runtime/kernels/loss_scale.hpp"
#include "runtime/kernels/loss_sums.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// These are sums over the micro-batches of a step, later over the ranks too.
struct StepSums {
    LossSums losses;
    double nonfinite_losses = 0;  // micro-batches whose loss was not finite

    static constexpr std::size_t count = 5;  // the struct is exactly this many doubles
};
static_assert(sizeof(StepSums) == StepSums::count * sizeof(double));

enum class StepOutcome : std::uint32_t { updated, not_finite, no_tokens };

// The state of a step in the device's memory. No part of it passes through the host during the
// step.
struct Step {
    StepState state;
    LossSums batch;  // of the current micro-batch
    StepSums sums;
    ExactSum squares;         // of the elements of the reduced gradient
    std::int64_t tokens = 1;  // of the last step, at least 1; sets the loss seed of the next step
    LossScale scale;

    // finish_step() writes these.
    StepOutcome outcome = StepOutcome::no_tokens;
    double gradient_norm = 0;  // of the mean gradient, before clipping
    double clip = 1;           // factor
};

// The host's input to a step. Only the device knows how many updates there were: the host may not
// know yet whether the previous step was an update.
struct StepOrder {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    // rates[i] is the learning rate after first_update + i updates.
    std::uint64_t first_update = 0;
    float rates[3] = {};
};

// These values do not change during a run.
struct StepRules {
    double gradient_clip = 0;  // maximum norm; <= 0: off
    LossScaling scaling;
    double beta1 = 0, beta2 = 0;  // adam's
};

// Counts the update of the previous step, sets everything in `step->state` except the gradient
// scale, and sets the sums to zero. The seed of backward is the loss scale divided by the power of
// two nearest to the last step's number of tokens. Scaling by a power of two is exact, so the
// choice of the power does not change the result.
void begin_step(CpuContext& ctx, const StepOrder& order, Step* step);
void begin_step(CudaContext& ctx, const StepOrder& order, Step* step);

// Computes sums += batch; batch = 0.
void end_micro_batch(CpuContext& ctx, Step* step);
void end_micro_batch(CudaContext& ctx, Step* step);

// Calculates the outcome, the scale of the gradient in the update (or that there is no update),
// adam's bias corrections and the next loss scale. The inputs are the reduced sums and gradient, so
// the results are equal on every rank.
void finish_step(CpuContext& ctx, const StepRules& rules, Step* step);
void finish_step(CudaContext& ctx, const StepRules& rules, Step* step);

}  // namespace lockstep::kernels
