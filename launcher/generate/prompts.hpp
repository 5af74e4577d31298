// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/text/text_chunks.hpp"
#include "data/text/warnings.hpp"
#include "launcher/generate/prompt_lines.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Says whether a conversation came as "messages", or in a form of data for training.
enum class TalkShape { messages, other };

// A prompt asks for a reply: it holds the turns of a dialogue so far.
struct Prompt {
    std::vector<std::string> turns;
    // The JSON of a conversation for the chat template, of which `turns` has the texts; empty:
    // none.
    std::string talk;
    TalkShape shape = TalkShape::messages;  // of `talk`
    std::uint32_t number = 0;               // the first one is 0
    std::string where;                      // its file and line, for errors
};

// Returns the prompt that a line of this format holds. `text` has one turn, in which \n is a line
// feed, as in ParlAI's interactive; `jsonl` {"text": "..."}, {"context": ["turn", ...]},
// {"messages": [...]} or a line as `prepare` reads it, in the forms of ShareGPT, of Alpaca and of
// prompt and completion, of which the last answer is left out. Throws a data error that begins with
// `where` for any other line, and for one that is not UTF-8 or has a NUL. Adds what is odd in the
// line to `found`.
Prompt prompt_of(const std::string& line, PromptFormat format, const std::string& where,
                 const data::SourceLine& source_line, data::Warnings& found);

// Reads prompts one after the other. Empty lines of `jsonl` are skipped. Throws a data error
// "origin:line: ..." as prompt_of() does, and for a line that is longer than read_line allows.
class PromptReader {
public:
    // `in` must outlive the reader.
    PromptReader(std::istream& in, std::string origin, PromptFormat format)
        : lines_(in, std::move(origin), format), format_(format) {}

    // Returns false at the end.
    bool next(Prompt& prompt);
    // Returns what is odd in the prompts so far.
    const data::Warnings& warnings() const noexcept { return warnings_; }

private:
    void look_at(std::string& line);

    PromptLines lines_;
    const PromptFormat format_;
    std::uint32_t count_ = 0;
    data::Warnings warnings_;
};

// These functions convert each \n to a line feed, and line feeds back to \n.
std::string with_line_feeds(std::string text);
std::string on_one_line(std::string text);

}  // namespace lockstep::launcher
