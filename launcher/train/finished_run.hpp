// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "launcher/options/run_config.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/train/loop/exit_reason.hpp"

namespace lockstep::launcher {

// Returns why the run ended before, if it has come to its end with these options and has evaluated
// its weights: then nothing is left to do. `resume` is the state of its newest checkpoint, if there
// is one; an epoch has `rows_per_epoch` rows. Collective.
std::optional<train::ExitReason> finished_before(const RunConfig& config,
                                                 const std::optional<train::TrainerState>& resume,
                                                 std::int64_t rows_per_epoch,
                                                 comm::Communicator& communicator);

}  // namespace lockstep::launcher
