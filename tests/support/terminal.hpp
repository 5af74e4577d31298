// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/core/file_descriptor.hpp"

namespace lockstep::tests {

// Runs a program of the build in a terminal of its own.
class TerminalProgram {
public:
    explicit TerminalProgram(const std::vector<std::string>& command);
    TerminalProgram(const TerminalProgram&) = delete;
    TerminalProgram& operator=(const TerminalProgram&) = delete;
    ~TerminalProgram();

    void type(const std::string& keys);

    // Returns the output since the last call, up to and including `words`. Throws if the program
    // ends before it shows them.
    std::string read_until(const std::string& words);

    // Reads up to a prompt and waits until each key reaches the program: an editor shows its prompt
    // shortly before it takes over the keys from the terminal's own editing.
    void read_prompt(const std::string& prompt);

    // Waits for the program's end. Returns its exit code, or 128 + the signal.
    int wait();

private:
    FileDescriptor terminal_;
    pid_t child_ = -1;
    std::string shown_;
};

}  // namespace lockstep::tests
