// SPDX-License-Identifier: Apache-2.0
#include "data/text/conversations.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "data/text/json_lines.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 3> members_of_turn = {"id", "text", "episode_done"};

constexpr std::string_view form = R"({"dialog": [[{"id": "...", "text": "..."}, ...]]})";

const Json& member(const Json& object, const char* key, const SourceLine& source_line) {
    const auto found = object.find(key);
    if (found == object.end())
        throw_bad_text(source_line,
                       std::string("no \"") + key + "\"; a line is " + std::string(form));
    return *found;
}

std::vector<std::string_view> utterances(const Json& conversation, Texts written,
                                         Warnings& warnings, const SourceLine& source_line) {
    std::vector<std::string_view> texts = {silence(written)};
    for (const Json& exchange : member(conversation, "dialog", source_line)) {
        for (const Json& turn : exchange) {
            const auto id = turn.find("id");
            if (id != turn.end() && *id == "context") {
                warnings.add("turns with the id 'context' are left out, as in ParlAI", source_line);
                continue;
            }
            texts.push_back(text_of(member(turn, "text", source_line), written, source_line));
            warn_of_members(turn, members_of_turn,
                            "the member @ of a turn is unknown and is left out", warnings,
                            source_line);
        }
    }
    return texts;
}

void emit(const std::vector<std::string_view>& texts, std::size_t first,
          const SourceLine& source_line, CheckedTurns& turns) {
    for (std::size_t i = first; i + 1 < texts.size(); i += 2) {
        if (i == first) turns.begin_episode();
        turns.turn(texts[i], {&texts[i + 1], 1}, source_line);
    }
}

void read_conversation(const Json& conversation, const ReadOptions& options, Warnings& warnings,
                       const SourceLine& source_line, CheckedTurns& turns) {
    const LabelTurns label_turns = options.label_turns;
    if (conversation.is_object() && conversation.contains("messages") &&
        !conversation.contains("dialog"))
        throw_bad_text(source_line, "a conversation of \"messages\"; say --format messages");
    const auto texts = utterances(conversation, options.texts, warnings, source_line);
    std::vector<std::string_view> known(members_of_origin().begin(), members_of_origin().end());
    known.push_back("dialog");
    warn_of_members(conversation, known, "the member @ of a line is unknown and is left out",
                    warnings, source_line);
    turns.begin_conversation(source_line);
    if (label_turns != LabelTurns::secondspeaker) emit(texts, 0, source_line, turns);
    if (label_turns != LabelTurns::firstspeaker) emit(texts, 1, source_line, turns);
    // With labels of the first speaker the other one may have the last word.
    if (label_turns == LabelTurns::secondspeaker && texts.size() % 2 == 0)
        turns.unanswered(source_line);
}

}  // namespace

void read_conversations(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                        CheckedTurns& turns) {
    for_each_json_line(chunk, form, [&](const Json& conversation, const SourceLine& source_line) {
        read_conversation(conversation, options, warnings, source_line, turns);
    });
}

}  // namespace lockstep::data
