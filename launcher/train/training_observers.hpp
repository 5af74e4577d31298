// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "runtime/core/log.hpp"
#include "runtime/train/loop/trainer_state.hpp"
#include "runtime/train/metrics/metrics_observers.hpp"

namespace lockstep::launcher {

// Owns the observers of a training run: the line or bar that the user sees, metrics.jsonl and
// TensorBoard events in the model's folder. Ranks other than 0 have none.
class TrainingObservers {
public:
    // The run begins or continues at `start`. The model's folder must exist.
    TrainingObservers(const RunConfig& config, int rank, Log& log,
                      const train::TrainerState& start);

    // Adds `observer`, which must outlive this object.
    void add(train::TrainingObserver& observer) { all_.add(observer); }
    train::TrainingObserver& entry() noexcept { return all_; }
    // Reports the steps that no line has reported yet.
    void flush();

private:
    void own(std::unique_ptr<train::TrainingObserver> observer, train::ObserverList& list);

    std::vector<std::unique_ptr<train::TrainingObserver>> owned_;
    train::ObserverList all_, summarised_;
    train::SummarisedSteps summary_;
};

}  // namespace lockstep::launcher
