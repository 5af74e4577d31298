// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_command.hpp"

namespace lockstep::launcher {

// These functions throw a config error for options that contradict each other or have impossible
// values.

[[noreturn]] void config_error(const std::string& text);

// Checks the options by which ranks are started and meet.
void check_launch(const RunConfig& config);
// Checks all options of a task that need neither the data nor the model folder.
void check_options(Task task, const RunConfig& config);

}  // namespace lockstep::launcher
