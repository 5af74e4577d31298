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
    std::map<std::string, std::string> environment;  // added to this process's
    std::string folder;                              // to run in; empty: here
};

// A program's full path where it is one of the build, else its name.
std::string program_path(const std::string& name);

// For a child before exec: Open MPI's session folder, of which mpiruns that follow each other make
// and remove the same one otherwise, is under `scratch`.
void keep_mpi_sessions_apart(const std::string& scratch);

// Runs a program of the build (looked up in the build's bin/ first, then on PATH) to its end.
ProgramResult run_program(const std::vector<std::string>& command, const ProgramInput& input = {});

// "lockstep prepare --input ..." as one text, split at blanks.
ProgramResult run_line(const std::string& line, const ProgramInput& input = {});

}  // namespace lockstep::tests
