// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
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

// Returns a text such as "the number of epochs is reached".
std::string_view describe(ExitReason reason) noexcept;

// Returns the limit that a run reaches when it has made `updates` updates, or nothing. Epochs and
// seconds are those of the state; an epoch has `rows_per_epoch` rows.
std::optional<ExitReason> limit_reached(const RunLimits& limits, const TrainerState& state,
                                        std::int64_t updates, std::int64_t rows_per_epoch) noexcept;

}  // namespace lockstep::train
