// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/options/option_table.hpp"
#include "launcher/options/run_command.hpp"

namespace lockstep::launcher {

// Refuses those options of a task's `tables` that nothing reads in a program of `ranks`, and adds
// the options of other tasks as refused ones, each with what to do instead: no option is taken and
// then ignored.
std::vector<OptionTable> program_tables(Task task, Ranks ranks, std::vector<OptionTable> tables,
                                        RunConfig& config);

}  // namespace lockstep::launcher
