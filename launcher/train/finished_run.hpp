// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "launcher/options/run_config.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/train/loop/trainer_state.hpp"

namespace lockstep::launcher {

// Returns the line that says why nothing is left to do, if the run has come to its end with these
// options and has evaluated its weights, or if it has already passed a limit that it is given now.
// `resume` is the state of its newest checkpoint, if there is one; an epoch has `rows_per_epoch`
// rows. Collective.
std::optional<std::string> nothing_to_do(const RunConfig& config,
                                         const std::optional<train::TrainerState>& resume,
                                         std::int64_t rows_per_epoch,
                                         comm::Communicator& communicator);

}  // namespace lockstep::launcher
