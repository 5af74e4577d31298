// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "runtime/core/log.hpp"
#include "runtime/train/loop/trainer_state.hpp"
#include "runtime/train/metrics/metrics_observers.hpp"

namespace lockstep::launcher {

// What follows a training run: the line or bar that the user sees, metrics.jsonl and TensorBoard
// events in the model's folder. On other ranks than 0 nobody follows.
class TrainingObservers {
public:
    // `start` is where the run begins or continues. The model's folder exists.
    TrainingObservers(const RunConfig& config, int rank, Log& log,
                      const train::TrainerState& start);

    // Also tells `observer`, which outlives this.
    void add(train::TrainingObserver& observer) { all_.add(observer); }
    train::TrainingObserver& entry() noexcept { return all_; }
    // Steps that no line has told yet.
    void flush();

private:
    void own(std::unique_ptr<train::TrainingObserver> observer, train::ObserverList& list);

    std::vector<std::unique_ptr<train::TrainingObserver>> owned_;
    train::ObserverList all_, summarised_;
    train::SummarisedSteps summary_;
};

}  // namespace lockstep::launcher
