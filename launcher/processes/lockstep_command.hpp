// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/environment/environment.hpp"

namespace lockstep::launcher {

// Returns the program of Lockstep that a command starts: "distributed_train" for `lockstep
// distributed_train ...` and for `/usr/bin/distributed_train ...`. An alias is replaced by the
// program's own name. The result is empty for any other command.
std::string lockstep_program(const std::vector<std::string>& command);

// Returns the model folder that the command of a training program of Lockstep names by -mf or
// --model-file. The result is empty for any other command.
std::string model_folder_of_command(const std::vector<std::string>& command);

// Replaces the program of Lockstep's own commands by the running binary's full path, so that PATH
// need not contain it. Other commands are returned unchanged.
std::vector<std::string> with_own_binary(const std::vector<std::string>& command);

// Throws a config error when `processes` copies of a program of Lockstep would each be a separate
// run instead of ranks of one run.
void require_ranks(const std::vector<std::string>& command, int processes);

// Throws a config error when a launcher has started this process, which runs a program that is one
// rank or starts its own, several times: each would be a run of its own. `args` are the program's
// words; a request for --help or --dump-config is always answered.
void require_one_process(const std::string& program, const std::vector<std::string>& args,
                         const comm::Environment& environment);

}  // namespace lockstep::launcher
