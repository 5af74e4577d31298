// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/loop/step_totals.hpp"
#include "runtime/train/loop/training_events.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::train {

// Describes one step's result. The caller adds the values of the run: counters, epoch, data_s,
// seconds. `sent` is what every step sends; what it exchanges of rows depends on the micro-batches,
// and the result counts it.
StepReport describe(const StepResult& result, const StepVector& totals,
                    const kernels::LossScaling& scaling, const StepTraffic& sent);

}  // namespace lockstep::train
