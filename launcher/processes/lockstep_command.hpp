// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lockstep::launcher {

// The program of Lockstep that a command starts ("distributed_train" of `lockstep
// distributed_train ...` and of `/usr/bin/distributed_train ...`), by its own name where an alias
// was typed; empty for any other command.
std::string lockstep_program(const std::vector<std::string>& command);

// Lockstep's own commands with the running binary's full path, so that PATH need not hold it;
// other commands as they are.
std::vector<std::string> with_own_binary(const std::vector<std::string>& command);

// Throws a config error where `processes` copies of a program of Lockstep would each be a run of
// its own instead of ranks of one run.
void require_ranks(const std::vector<std::string>& command, int processes);

}  // namespace lockstep::launcher
