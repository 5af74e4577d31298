// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

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

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

// Prompts whose lengths differ as much as prompts do.
inline std::string uneven_prompts() {
    std::string text;
    for (const int words : {1, 3, 0, 40, 7, 2, 90, 1, 21, 5, 60, 120, 4, 1, 14}) {
        for (int w = 0; w < words; ++w) {
            text += (w == 0 ? "" : " ") + std::string(w * words % 3 == 0 ? "king" : "my lord");
        }
        text += '\n';
    }
    return text;
}

// Runs generate with these words, which may have blanks.
inline ProgramResult ask(const SmallTalk& talk, const std::vector<std::string>& more,
                         const std::string& input = "") {
    std::vector<std::string> words{"lockstep", "generate", "--threads", "1", "-mf", talk.model};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, ProgramInput{input, {}, ""});
}

inline std::string answers(const SmallTalk& talk, const std::vector<std::string>& more,
                           const std::string& input = "") {
    const ProgramResult run = ask(talk, more, input);
    REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    return run.out;
}

}  // namespace lockstep::tests
