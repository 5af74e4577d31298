// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>

#include "data/text/turns.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {

// Writes turns as "line:text->label|label", an episode in brackets.
class RecordedTurns final : public TurnSink {
public:
    void begin_episode() override { text += text.empty() ? "[" : "]["; }
    void turn(std::string_view said, std::span<const std::string_view> labels,
              const SourceLine& source_line) override {
        text += " " + std::to_string(source_line.line) + ":";
        text.append(said) += "->";
        for (std::size_t i = 0; i < labels.size(); ++i) (text += i ? "|" : "").append(labels[i]);
    }

    std::string text;
};

struct Read {
    std::string turns, warnings;
};

// Returns the turns that a reader makes of a chunk, or the text of its error.
inline Read read_text(const std::string& text, const ReadOptions& options) {
    TextChunk chunk;
    chunk.path = "f";
    chunk.first_line = 1;
    chunk.text = text;
    std::ostringstream lines;
    Log log(lines, Verbosity::normal, 0, "");
    Warnings warnings;
    RecordedTurns turns;
    try {
        read_turns(chunk, options, warnings, turns);
    } catch (const Error& e) {
        return {e.what(), ""};
    }
    warnings.write(log);
    return {turns.text, lines.str()};
}

}  // namespace lockstep::data
