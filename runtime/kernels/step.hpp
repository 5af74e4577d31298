// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/view.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/loss_scale.hpp"
#include "runtime/kernels/loss_sums.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Sums over the micro-batches of a step, then over the ranks.
struct StepSums {
    LossSums losses;
    double nonfinite_losses = 0;  // micro-batches whose loss was not finite

    static constexpr std::size_t count = 5;  // it is nothing but so many doubles
};
static_assert(sizeof(StepSums) == StepSums::count * sizeof(double));

enum class StepOutcome : std::uint32_t { updated, not_finite, no_tokens };

// A step in the device's memory: nothing of it passes through the host before the step is over.
struct Step {
    StepState state;
    LossSums batch;  // of the micro-batch that runs
    StepSums sums;
    double sum_of_squares = 0;  // of the reduced gradient
    std::int64_t tokens = 1;    // of the last step, at least 1; sets the next one's loss seed
    LossScale scale;

    // Found by finish_step().
    StepOutcome outcome = StepOutcome::no_tokens;
    double gradient_norm = 0;  // of the mean gradient, before clipping
    double clip = 1;           // factor
};

// What the host says of a step. The device knows how many updates there were; the host may not yet
// know whether the step before was one.
struct StepOrder {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    // rates[i] is the learning rate after first_update + i updates.
    std::uint64_t first_update = 0;
    float rates[3] = {};
};

// Fixed for a run.
struct StepRules {
    double gradient_clip = 0;  // largest norm; <= 0: off
    LossScaling scaling;
    double beta1 = 0, beta2 = 0;  // adam's
};

// Counts the update of the step before, sets everything in `step->state` but the gradient's scale,
// and the sums to zero. The seed of backward is the loss scale over the power of two nearest to the
// last step's tokens: scaling by it is exact, so neither the guess nor the step before matters.
void begin_step(CpuContext& ctx, const StepOrder& order, Step* step);
void begin_step(CudaContext& ctx, const StepOrder& order, Step* step);

// sums += batch; batch = 0.
void end_micro_batch(CpuContext& ctx, Step* step);
void end_micro_batch(CudaContext& ctx, Step* step);

// From the reduced sums and gradient, hence alike on every rank: the outcome, the scale of the
// gradient in the update (or that there is none), adam's bias corrections and the next loss scale.
void finish_step(CpuContext& ctx, const StepRules& rules, Step* step);
void finish_step(CudaContext& ctx, const StepRules& rules, Step* step);

}  // namespace lockstep::kernels
