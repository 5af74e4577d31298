// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/engine.hpp"
#include "runtime/train/step_vector.hpp"
#include "runtime/train/training_events.hpp"

namespace lockstep::train {

// What one step's result says, without what concerns the run: counters, epoch, data_s, seconds.
StepReport describe(const StepResult& result, const StepVector& totals,
                    const kernels::LossScaling& scaling);

}  // namespace lockstep::train
