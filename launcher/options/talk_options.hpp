// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/command_line/option_table.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Returns the options of generate, interactive and self_chat.
std::vector<OptionTable> talk_tables(Task task, RunConfig& config);

}  // namespace lockstep::launcher
