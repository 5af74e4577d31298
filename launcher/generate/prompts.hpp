// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "data/text/warnings.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// A prompt asks for a reply: it holds the turns of a dialogue so far.
struct Prompt {
    std::vector<std::string> turns;
    std::uint32_t number = 0;  // the first one is 0
};

// Reads prompts one after the other. `text` has one turn per line, in which \n is a line feed, as
// in ParlAI's interactive. `jsonl` has {"text": "..."} or {"context": ["turn", ...]} on each line
// and skips empty lines. Throws a data error "origin:line: ..." for any other line, or one that is
// not UTF-8, has a NUL or is longer than read_line allows.
class PromptReader {
public:
    // `in` must outlive the reader.
    PromptReader(std::istream& in, std::string origin, PromptFormat format)
        : in_(in), origin_(std::move(origin)), format_(format) {}

    // Returns false at the end.
    bool next(Prompt& prompt);
    // Returns what is odd in the prompts so far.
    const data::Warnings& warnings() const noexcept { return warnings_; }

private:
    bool next_line(std::string& line);
    void look_at(std::string& line);

    std::istream& in_;
    const std::string origin_;
    const PromptFormat format_;
    std::uint64_t line_ = 0;
    std::uint32_t count_ = 0;
    data::Warnings warnings_;
};

// These functions convert each \n to a line feed, and line feeds back to \n.
std::string with_line_feeds(std::string text);
std::string on_one_line(std::string text);

}  // namespace lockstep::launcher
