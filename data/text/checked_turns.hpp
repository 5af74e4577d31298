// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "data/text/turns.hpp"

namespace lockstep::data {

// Takes the turns of a reader and passes them to a sink without labels that are empty. It warns of
// these, and of conversations that give no example or end with a turn that nobody answers.
class CheckedTurns {
public:
    // The sink and the warnings outlive the object.
    CheckedTurns(TurnSink& sink, Warnings& warnings) : sink_(sink), warnings_(warnings) {}

    // A conversation is what a file calls one: with both speakers as labels it has two episodes.
    void begin_conversation(const SourceLine& source_line);
    void begin_episode() { sink_.begin_episode(); }
    void turn(std::string_view text, std::span<const std::string_view> labels,
              const SourceLine& source_line);
    // A turn without an answer that the reader leaves out.
    void unanswered(const SourceLine& source_line) { unanswered_ = source_line; }
    // Ends the last conversation.
    void end();

private:
    TurnSink& sink_;
    Warnings& warnings_;
    std::optional<SourceLine> begin_;       // of the conversation
    std::optional<SourceLine> unanswered_;  // its last turn, if that has no label
    bool answered_ = false;                 // it has a turn with a label
    std::vector<std::string_view> labels_;
};

}  // namespace lockstep::data
