// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/exit_reason.hpp"

#include "runtime/train/loop/epoch_share.hpp"

namespace lockstep::train {

std::string_view describe(ExitReason reason) noexcept {
    switch (reason) {
        case ExitReason::epochs_done:
            return "the number of epochs is reached";
        case ExitReason::steps_done:
            return "the number of steps is reached";
        case ExitReason::time_over:
            return "the time is over";
        case ExitReason::patience_over:
            return "the validations get no better";
        case ExitReason::cutoff_reached:
            return "the validation metric is good enough";
        case ExitReason::stop_requested:
            break;
    }
    return "a stop was requested";
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

}  // namespace lockstep::train
