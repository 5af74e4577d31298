// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>

#include "runtime/batch/step_source.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/train/loop/schedule.hpp"
#include "runtime/train/loop/step_totals.hpp"
#include "runtime/train/loop/training_events.hpp"
#include "runtime/train/loop/validation_policy.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::train {

// What a run works on and whom it tells; all of it is borrowed.
struct TrainerParts {
    Engine& engine;
    comm::Communicator& communicator;
    Trace& trace;
    StepSource& source;
    TrainingObserver& observer;
    CheckpointSink& checkpoints;
    Validator* validator = nullptr;  // none: no validation
    const StopFlag& stop;
    comm::RankProgress* whereabouts = nullptr;  // none: nobody watches
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
    // A step that was queued, and what the host knows of it.
    struct Pending {
        StepVector totals;
        std::int64_t step = 0;  // including this one
        double epochs = 0;
        std::optional<std::int64_t> completed_epochs;  // where it was the last of one
        double data_s = 0;
    };

    void start();
    void step();
    kernels::StepOrder order() const;
    StepVector tell(const StepBatches& batches) const;
    void advance(Pending& pending);
    void settle();
    void compare_weights();
    std::size_t steps_ahead() const noexcept;
    void settle_all();
    void count(const StepResult& result, const StepVector& totals);
    [[noreturn]] void throw_not_finite(const std::string& how, const StepResult& result);
    std::optional<ExitReason> decide();
    bool decision_due();
    std::optional<ExitReason> limit_reached(std::int64_t updates) const noexcept;
    bool save_due(std::int64_t updates) const noexcept;
    std::optional<ExitReason> validate();
    void validate_at_the_end();
    ValidationReport evaluate();
    void save(CheckpointKind kind);

    TrainOptions options_;
    TrainerParts parts_;
    TrainerState state_;
    Schedule schedule_;
    ValidationPolicy policy_;
    StepVector totals_;                          // of the last step
    std::deque<Pending> pending_;                // queued, their results not asked for
    std::optional<std::int64_t> hashed_update_;  // whose weights' hash was not asked for
    double earlier_s_;                           // training time of the runs before this one
    Clock::time_point started_, step_ended_, validated_, saved_;
    std::int64_t saved_updates_;
};

}  // namespace lockstep::train
