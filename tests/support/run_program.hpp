// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
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

// Runs a program of the build (looked up in the build's bin/ first, then on PATH) to its end.
// For a child before exec: Open MPI's session folder, of which mpiruns that follow each other make
// and remove the same one otherwise, is under `scratch`.
void keep_mpi_sessions_apart(const std::string& scratch);

ProgramResult run_program(const std::vector<std::string>& command, const ProgramInput& input = {});

// "lockstep prepare --input ..." as one text, split at blanks.
ProgramResult run_line(const std::string& line, const ProgramInput& input = {});

// A folder of this test's own, removed with everything in it at the end.
class ScratchFolder {
public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);
// The first lines of a file, as a new file.
void copy_head(const std::string& from, const std::string& to, int lines);

}  // namespace lockstep::tests
