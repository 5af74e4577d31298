// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/support/failing_disk/disk_fault.hpp"
#include "tests/support/failing_disk/folder_tree.hpp"
#include "tests/support/run_program.hpp"

namespace lockstep::tests {

// Says what happened to a program: it met an error, it was killed or has ended well, or the power
// was cut after that.
enum class Aftermath { failed, killed, power_cut };

// An operation of a program that a sweep repeats, each time with a fault at another call.
struct SweptOperation {
    FolderTree before;  // the folder's content before the operation
    // Returns the words of the command that works in `folder`.
    std::function<std::vector<std::string>(const std::string& folder)> command;
    // Looks at the folder after a fault, starts the program again as a user would, and returns what
    // is wrong; empty: nothing. It is called by several threads.
    std::function<std::string(const std::string& folder, const ProgramResult& met, Aftermath)>
        check;
};

struct SweepResult {
    int calls = 0;   // calls that the operation makes below its folder
    int points = 0;  // faults that were made, each in a run of its own
    std::vector<std::string> complaints;
};

// Runs the operation once without a fault and then with one fault after another: errors, short
// writes, kills, power cuts after kills, and one after a good end. FAULT_SWEEP=full tries every
// call with every error. Without it each kind of call at each kind of file is tried once, and at
// most `max_points` of them.
SweepResult sweep(const SweptOperation& operation, std::size_t max_points);

// Runs a program that ends with code 124 or 137 if it hangs.
ProgramResult run_within_limit(const std::vector<std::string>& command,
                               const std::map<std::string, std::string>& environment = {});

// Returns a complaint unless the program has told its failure in one line.
std::string told_in_one_line(const ProgramResult& run);

// Makes scratch folders lie in memory, where syncing costs nothing.
void use_scratch_in_memory();

}  // namespace lockstep::tests
