// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "launcher/evaluate/evaluator.hpp"
#include "launcher/evaluate/memory_record.hpp"
#include "launcher/rank/data_sets.hpp"
#include "runtime/core/log.hpp"
#include "runtime/train/loop/trainer_state.hpp"

namespace lockstep::launcher {

// Evaluates the final weights on all rows of the splits valid and test of the sets that have them.
// Reports the metrics to log and observer, and rank 0 writes report.json into the model's folder,
// with `memory` in it, also if there is no such split: it tells that the run has come to its end.
// Before that it calls
// `keep_metrics`, which has to put on disk what the observer was told.
// `state` is the state at the end of training. A request to stop ends it without report.json.
// Collective.
void evaluate_at_the_end(const EvaluatorParts& parts, const DataSets& sets,
                         const train::TrainerState& state, const train::StopFlag& stop, Log& log,
                         train::TrainingObserver& observer, const MemoryRecord& memory,
                         const std::function<void()>& keep_metrics);

}  // namespace lockstep::launcher
