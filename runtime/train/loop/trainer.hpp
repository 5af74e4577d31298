// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "runtime/batch/step_source.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/mesh.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/train/loop/exit_reason.hpp"
#include "runtime/train/loop/schedule.hpp"
#include "runtime/train/loop/step_totals.hpp"
#include "runtime/train/loop/training_events.hpp"
#include "runtime/train/loop/validation_policy.hpp"
#include "runtime/train/options.hpp"
#include "runtime/train/reduction/step_traffic.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::train {

// Holds the parts that a run uses and reports to. They are all borrowed and must outlive the
// trainer.
struct TrainerParts {
    Engine& engine;
    comm::Communicator& communicator;
    Trace& trace;
    StepSource& source;
    TrainingObserver& observer;
    CheckpointSink& checkpoints;
    Validator* validator = nullptr;  // null: no validation
    const StopFlag& stop;
    comm::RankProgress* progress = nullptr;  // null: no watchdog
    StepTraffic sent = {};                   // by this rank, in every step
    std::int64_t run_updates = -1;           // of the whole run; <= 0: its options tell them
    comm::RowCounts row_counts = comm::RowCounts::own;
    // Tells whether the weights give a finite loss. It is asked before the last checkpoint of a run
    // that ends, on every rank, and has the same answer on each. Empty: it is not asked.
    std::function<bool()> weights_are_sound = {};
};

// Runs the training loop of one rank. Every rank runs its own trainer with the same options and
// state. Every decision to end the run, to validate or to save depends only on values that all
// ranks share. Usage:
//     Trainer trainer(options, {engine, communicator, trace, source, observer, checkpoints,
//                               &validator, stop});
//     const ExitReason reason = trainer.run();  // throws on failure
//     std::cout << describe(reason, trainer.state());  // "the number of epochs is reached"
class Trainer {
public:
    // A fresh run has no `resume`. In both cases rank 0's weights (and optimizer state) are used on
    // all ranks, unless ranks that share have written what they own. Throws kind config.
    Trainer(const TrainOptions& options, const TrainerParts& parts,
            const std::optional<TrainerState>& resume = std::nullopt);

    // Trains until a limit, the validations or a request ends the run, then saves the latest
    // checkpoint. Weights that have diverged are not saved; kind numeric is thrown.
    ExitReason run();

    const TrainerState& state() const noexcept { return state_; }
    // Returns the state with the validation at the end of the run as the last one. A continued run
    // does not count that one, so that it validates as if the run had not ended there.
    TrainerState state_for_readers() const;

private:
    // Describes a queued step with the values that the host knows of it.
    struct Pending {
        StepVector totals;
        std::int64_t step = 0;  // number of steps including this one
        double epochs = 0;
        std::optional<std::int64_t> completed_epochs;  // set if the step was the last of an epoch
        double data_s = 0;
    };

    void start();
    void step();
    kernels::StepOrder order() const;
    static void count_rows(const StepBatches& batches, StepVector& local);
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
    bool save_due(std::int64_t updates) const noexcept;
    std::optional<ExitReason> validate();
    void require_sound_weights();
    void validate_at_the_end();
    std::optional<ValidationReport> evaluate();
    TrainerState state_to_save() const;
    void save(CheckpointKind kind);
    void finish_saves();

    TrainOptions options_;
    TrainerParts parts_;
    TrainerState state_;
    Schedule schedule_;
    ValidationPolicy policy_;
    StepVector totals_;                          // sums of the last step
    std::deque<Pending> pending_;                // queued steps whose results have not been taken
    std::optional<std::int64_t> hashed_update_;  // update whose weights' hash has not been taken
    double earlier_s_;                           // training time of earlier runs
    double unvalidated_s_;                       // the part of it since the last validation
    Clock::time_point started_, step_ended_, validated_, saved_;
    std::int64_t saved_updates_, validated_updates_;
};

}  // namespace lockstep::train
