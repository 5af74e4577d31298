// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/launcher/programs/fault_sweep.hpp"
#include "tests/support/failing_disk/folder_tree.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

namespace lockstep::tests {

std::vector<std::string> words_of(const std::string& line);

// A data set, and a run of a tiny model in FOLDER/model that saves after each step and validates
// after each second one.
class TinyRun {
public:
    static constexpr int last_step = 4;

    TinyRun();
    // Returns the command that trains in FOLDER/model until that step.
    std::vector<std::string> command(const std::string& folder, int step = last_step) const;
    // Returns a folder in which the run has made that number of steps.
    FolderTree after(int step) const;
    // Returns what becomes of a folder if the run goes to its last step without a fault.
    FolderTree finished(const FolderTree& before) const;
    // Tells whether model.safetensors may have these bytes.
    bool are_best_weights(const std::string& bytes) const { return best_weights_.contains(bytes); }

private:
    ScratchFolder scratch_;
    std::set<std::string> best_weights_;
};

// Checks the folder after a fault, and that a plain start then ends like an undisturbed run.
class RunCheck {
public:
    // `before` is the folder before the run that met the fault, and `first_step` the step of its
    // newest good checkpoint; 0: none.
    RunCheck(const TinyRun& run, const FolderTree& before, int first_step);

    // Returns what is wrong; empty: nothing.
    std::string operator()(const std::string& folder, const ProgramResult& met,
                           Aftermath aftermath) const;

private:
    std::string wrong_weights(const FolderTree& tree) const;
    static std::string wrong_beginning(const std::string& out, int expected);
    std::string wrong_result(const FolderTree& after) const;

    const TinyRun& run_;
    int first_step_;
    FolderTree calm_;
};

}  // namespace lockstep::tests
