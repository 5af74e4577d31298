// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/evaluate/evaluator.hpp"
#include "launcher/rank/data_sets.hpp"
#include "runtime/core/log.hpp"
#include "runtime/train/loop/trainer_state.hpp"

namespace lockstep::launcher {

// Those that a run ends with: the validations', or without any the training's.
const DataSets& final_sets(const DataSets& training, const DataSets& validation) noexcept;

// When training has ended: evaluates the model's weights on all rows of the splits valid and test,
// of those sets that have them; tells log and observer, and rank 0 writes report.json into the
// model's folder. `state` is where training ended. Collective.
void evaluate_at_the_end(const EvaluatorParts& parts, const DataSets& sets,
                         const train::TrainerState& state, Log& log,
                         train::TrainingObserver& observer);

}  // namespace lockstep::launcher
