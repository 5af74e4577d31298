// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "tests/support/program_checks.hpp"

namespace lockstep::tests {

// A model that knows five replies by heart.
struct SmallTalk {
    ScratchFolder scratch;
    std::string model = scratch / "model";

    SmallTalk() {
        write_text(scratch / "talk.txt",
                   "text:hello\tlabels:good morning\n"
                   "text:who are you\tlabels:a model\tepisode_done:True\n"
                   "text:who are you\tlabels:nobody\tepisode_done:True\n"
                   "text:where\\nis rome\tlabels:in\\nitaly\tepisode_done:True\n"
                   "text:\tlabels:silence\tepisode_done:True\n");
        done("lockstep prepare --input " + (scratch / "talk.txt") + " --out " + (scratch / "data"));
        done("train --data " + (scratch / "data") + " -mf " + model +
             " --n-layers 1 --n-heads 2 --embedding-size 32 --ffn-size 32 --dropout 0 -lr 0.01 "
             "-bs 5 --max-train-steps 120 --threads 1 --precision fp32");
    }

    // Runs it to its end, which must be a good one; what it printed.
    static std::string done(const std::string& line, const std::string& input = "") {
        const ProgramResult run = run_line(line, ProgramInput{input, {}, ""});
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        return run.out;
    }

    std::string generate(const std::string& more, const std::string& input = "") const {
        return done("lockstep generate --threads 1 -mf " + model + " " + more, input);
    }
};

}  // namespace lockstep::tests
