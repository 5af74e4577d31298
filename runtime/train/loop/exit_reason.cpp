// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/exit_reason.hpp"

#include "runtime/train/loop/epoch_share.hpp"
#include "runtime/train/loop/validation_policy.hpp"

namespace lockstep::train {
namespace {

std::string no_better(int validations) {
    return validations == 1 ? "1 validation was no better"
                            : std::to_string(validations) + " validations in a row were no better";
}

}  // namespace

std::string describe(ExitReason reason, const TrainerState& state) {
    switch (reason) {
        case ExitReason::epochs_done:
            return "the number of epochs is reached";
        case ExitReason::steps_done:
            return "the number of steps is reached";
        case ExitReason::time_over:
            return "the time is over";
        case ExitReason::patience_over:
            return no_better(state.validation.without_better);
        case ExitReason::cutoff_reached:
            return "the validation metric is good enough";
        case ExitReason::stop_requested:
            break;
    }
    return "a stop was requested";
}

std::string_view way_on(ExitReason reason) noexcept {
    switch (reason) {
        case ExitReason::epochs_done:
            return "give a larger --num-epochs";
        case ExitReason::steps_done:
            return "give a larger --max-train-steps";
        case ExitReason::time_over:
            return "give a larger --max-train-time";
        case ExitReason::patience_over:
            return "give a larger --validation-patience or another --learningrate";
        case ExitReason::cutoff_reached:
            return "give a --validation-cutoff that is harder to reach";
        case ExitReason::stop_requested:
            break;
    }
    return "";
}

std::optional<ExitReason> limit_reached(const RunLimits& limits, const TrainerState& state,
                                        std::int64_t updates,
                                        std::int64_t rows_per_epoch) noexcept {
    const EpochShare epochs(limits.num_epochs);
    if (epochs.given() && rows_at(state.epochs, rows_per_epoch) >= epochs.rows(rows_per_epoch))
        return ExitReason::epochs_done;
    if (limits.max_train_steps > 0 && updates >= limits.max_train_steps)
        return ExitReason::steps_done;
    if (limits.max_train_time_s > 0 && state.seconds >= limits.max_train_time_s)
        return ExitReason::time_over;
    return std::nullopt;
}

std::optional<ExitReason> ended(const TrainOptions& options, const TrainerState& state,
                                std::int64_t rows_per_epoch) {
    if (const auto verdict = ValidationPolicy(options.validation).verdict(state.validation))
        return verdict;
    return limit_reached(options.limits, state, state.updates, rows_per_epoch);
}

}  // namespace lockstep::train
