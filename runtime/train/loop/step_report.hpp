// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/loop/step_totals.hpp"
#include "runtime/train/loop/training_events.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::train {

// Describes one step's result. The caller adds the values of the run: counters, epoch, data_s,
// seconds.
StepReport describe(const StepResult& result, const StepVector& totals,
                    const kernels::LossScaling& scaling);

}  // namespace lockstep::train
