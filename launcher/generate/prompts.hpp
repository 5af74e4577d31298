// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// A prompt is what is to be answered: the turns of a dialogue so far.
struct Prompt {
    std::vector<std::string> turns;
    std::uint32_t number = 0;  // from 0
};

// Reads prompts one after the other. text: a turn a line, in which \n is a line feed, as ParlAI's
// interactive takes it. jsonl: {"text": "..."} or {"context": ["turn", ...]}; empty lines are
// passed over. Throws a data error "origin:line: ..." for a line that is not such a thing, or not
// UTF-8.
class PromptReader {
public:
    // `in` outlives the reader.
    PromptReader(std::istream& in, std::string origin, PromptFormat format)
        : in_(in), origin_(std::move(origin)), format_(format) {}

    // False at the end.
    bool next(Prompt& prompt);

private:
    std::istream& in_;
    const std::string origin_;
    const PromptFormat format_;
    std::uint64_t line_ = 0;
    std::uint32_t count_ = 0;
};

// A line feed for each \n, and the other way round.
std::string with_line_feeds(std::string text);
std::string on_one_line(std::string text);

}  // namespace lockstep::launcher
