// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "runtime/train/options.hpp"
#include "runtime/train/train_step.hpp"
#include "runtime/train/training_events.hpp"
#include "runtime/train/validation_policy.hpp"

namespace lockstep::train {

// What a run works on and whom it tells; all of it is borrowed.
struct TrainerParts {
    StepParts step;
    StepSource& source;
    TrainingObserver& observer;
    CheckpointSink& checkpoints;
    Validator* validator = nullptr;  // none: no validation
    const StopFlag& stop;
};

// Runs the training loop of one rank; every rank runs its own, with the same options and state.
// Whatever ends the run or makes it validate or save is decided from values that the ranks share.
class Trainer {
public:
    // A fresh run has no `resume`; the weights (and the optimizer's state) are rank 0's in either
    // case. Throws config errors.
    Trainer(const TrainOptions& options, TrainerParts parts,
            std::optional<TrainerState> resume = std::nullopt);

    // Until a limit, the validations or a request end it; the latest checkpoint is saved then.
    ExitReason run();

    const TrainerState& state() const noexcept { return state_; }

private:
    void start();
    void step();
    StepVector tell() const;
    void advance(const StepVector& totals);
    std::optional<ExitReason> decide();
    std::optional<ExitReason> limit_reached() const noexcept;
    bool save_due() const noexcept;
    std::optional<ExitReason> validate();
    void validate_at_the_end();
    ValidationReport evaluate();
    void save(CheckpointKind kind);

    TrainOptions options_;
    TrainerParts parts_;
    TrainerState state_;
    Schedule schedule_;
    ValidationPolicy policy_;
    TrainStep train_step_;
    StepVector totals_;  // of the last step
    double earlier_s_;   // training time of the runs before this one
    Clock::time_point started_, step_ended_, validated_, saved_;
    std::int64_t saved_updates_;
};

}  // namespace lockstep::train
