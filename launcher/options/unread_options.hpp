// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_command.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Throws a config error if an option was given that nobody reads under the other options. One that
// asks for its default is accepted.
void check_unread(Task task, const RunConfig& config);

}  // namespace lockstep::launcher
