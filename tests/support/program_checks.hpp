// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

namespace lockstep::tests {

// Prepares a few dialogues with the program, and names a folder for a model of them.
struct PreparedDialogues {
    ScratchFolder scratch;
    std::string data = scratch / "data", model = scratch / "model";

    PreparedDialogues() {
        copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 60);
        const auto run =
            run_line("lockstep prepare --input " + (scratch / "train.txt") + " --out " + data);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    }
};

// Prepares the same lines of dialogues as training data and as validation data.
struct ValidatedDialogues {
    ScratchFolder scratch;
    std::string data = scratch / "data", model = scratch / "model";

    explicit ValidatedDialogues(int lines) {
        const std::string text = scratch / "train.txt";
        copy_head("examples/shakespeare/train.txt", text, lines);
        const auto run =
            run_line("lockstep prepare --input " + text + " --valid " + text + " --out " + data);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    }
};

// Checks that the program ended with that code and printed all of these words.
inline void says(const ProgramResult& run, int code, const std::vector<std::string>& words) {
    INFO(run.out);
    INFO(run.err);
    CHECK(run.code == code);
    for (const std::string& word : words) {
        CAPTURE(word);
        CHECK((run.out + run.err).find(word) != std::string::npos);
    }
}

}  // namespace lockstep::tests
