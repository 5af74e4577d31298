// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "launcher/command_line/option_table.hpp"
#include "runtime/comm/environment/environment.hpp"

namespace lockstep::launcher {

// Returns torchrun's variable for an option: PET_NPROC_PER_NODE for "nproc-per-node".
std::string launch_variable(const std::string& option);

// Sets the tables' targets from torchrun's variables. Words of the command line, which are read
// afterwards, take precedence. Returns the names of the options that were set. Throws a config
// error that names the variable.
std::set<std::string> take_launch_variables(const std::vector<OptionTable>& tables,
                                            const comm::Environment& environment);

// Returns the message with the variable of an option that it names, if the option is one of
// `by_variable` and was not given on the command line.
std::string naming_variable(const std::string& message, const std::set<std::string>& by_variable,
                            const std::set<std::string>& given,
                            const comm::Environment& environment);

}  // namespace lockstep::launcher
