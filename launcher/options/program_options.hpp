// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/command_line/option_table.hpp"
#include "launcher/options/run_command.hpp"

namespace lockstep::launcher {

// Refuses those options of a task's `tables` that a program of `ranks` does not read. Adds the
// options of other tasks as refused ones with a text that says what to do instead. So no option is
// accepted and then ignored.
std::vector<OptionTable> program_tables(Task task, Ranks ranks, std::vector<OptionTable> tables,
                                        RunConfig& config);

}  // namespace lockstep::launcher
