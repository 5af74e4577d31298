// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep::tests {

struct ProgramResult {
    int code = 0;  // exit code, or 128 + the signal
    std::string out, err;
};

struct ProgramInput {
    std::string standard_input;
    std::map<std::string, std::string> environment;  // added to this process's environment
    std::string folder;                              // folder to run in; empty: the current one
};

// Returns a program's full path if it belongs to the build, else its name.
std::string program_path(const std::string& name);

// Moves Open MPI's session folder to `scratch`, for a child before exec. Otherwise consecutive
// mpiruns create and remove the same folder.
void keep_mpi_sessions_apart(const std::string& scratch);

// Runs a program to its end. It is looked up in the build's bin/ first, then on PATH.
ProgramResult run_program(const std::vector<std::string>& command, const ProgramInput& input = {});

// Runs a command line such as "lockstep prepare --input ...", which is split at blanks.
ProgramResult run_line(const std::string& line, const ProgramInput& input = {});

}  // namespace lockstep::tests
