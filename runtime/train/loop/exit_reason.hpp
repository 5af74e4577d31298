// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/train/loop/trainer_state.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::train {

enum class ExitReason {
    epochs_done,
    steps_done,
    time_over,
    patience_over,
    cutoff_reached,
    stop_requested
};

// Returns a text such as "the number of epochs is reached". `state` is that at the end.
std::string describe(ExitReason reason, const TrainerState& state);
// Returns what makes an ended run go on: "give a larger --num-epochs". It is empty after a stop.
std::string_view way_on(ExitReason reason) noexcept;

// Returns the limit that a run reaches when it has made `updates` updates, or nothing. Epochs and
// seconds are those of the state; an epoch has `rows_per_epoch` rows.
std::optional<ExitReason> limit_reached(const RunLimits& limits, const TrainerState& state,
                                        std::int64_t updates, std::int64_t rows_per_epoch) noexcept;

// Returns why a run with that state has nothing left to do, as its last validation or a limit says;
// or nothing.
std::optional<ExitReason> ended(const TrainOptions& options, const TrainerState& state,
                                std::int64_t rows_per_epoch);

}  // namespace lockstep::train
