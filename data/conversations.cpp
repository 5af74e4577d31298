// SPDX-License-Identifier: Apache-2.0
#include "data/conversations.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "data/fields.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::json;

constexpr std::string_view expected =
    R"(; a line is {"dialog": [[{"id": "...", "text": "..."}, ...]]})";

const Json& member(const Json& object, const char* key, const Place& place) {
    const auto found = object.find(key);
    if (found == object.end())
        throw_bad_text(place, std::string("no \"") + key + "\"" + std::string(expected));
    return *found;
}

std::vector<std::string_view> utterances(const Json& conversation, Warnings& warnings,
                                         const Place& place) {
    std::vector<std::string_view> texts = {"__SILENCE__"};
    for (const Json& exchange : member(conversation, "dialog", place)) {
        for (const Json& turn : exchange) {
            const auto id = turn.find("id");
            if (id != turn.end() && *id == "context") {
                warnings.once("turns with the id 'context' are left out, as in ParlAI", place);
                continue;
            }
            const auto& text = member(turn, "text", place).get_ref<const std::string&>();
            require_text(text, place);
            texts.push_back(stripped(text));
        }
    }
    return texts;
}

void emit(const std::vector<std::string_view>& texts, std::size_t first, const Place& place,
          TurnSink& sink) {
    for (std::size_t i = first; i + 1 < texts.size(); i += 2) {
        if (i == first) sink.begin_episode();
        sink.turn(texts[i], {&texts[i + 1], 1}, place);
    }
}

void read_line(std::string_view line, LabelTurns label_turns, Warnings& warnings,
               const Place& place, TurnSink& sink) {
    if (stripped(line).empty()) return;
    try {
        const Json conversation = Json::parse(line);
        const auto texts = utterances(conversation, warnings, place);
        if (label_turns != LabelTurns::secondspeaker) emit(texts, 0, place, sink);
        if (label_turns != LabelTurns::firstspeaker) emit(texts, 1, place, sink);
    } catch (const Json::parse_error& e) {
        throw_bad_text(place,
                       "not JSON, at byte " + std::to_string(e.byte) + std::string(expected));
    } catch (const Json::exception&) {
        throw_bad_text(place, "not a conversation" + std::string(expected));
    }
}

}  // namespace

void read_conversations(const TextChunk& chunk, LabelTurns label_turns, Warnings& warnings,
                        TurnSink& sink) {
    for_each_line(chunk, [&](std::string_view line, const Place& place) {
        read_line(line, label_turns, warnings, place, sink);
    });
}

}  // namespace lockstep::data
