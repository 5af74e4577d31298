// SPDX-License-Identifier: Apache-2.0
#include "data/text/messages.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "data/text/fields.hpp"
#include "data/text/json_lines.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::json;

constexpr std::string_view form_of_messages =
    R"({"messages": [{"role": "user", "content": "..."}, {"role": "assistant", ...}]})";

constexpr std::array<std::string_view, 5> context_roles = {"system", "developer", "user", "tool",
                                                           "function"};

// Turns a conversation's messages into turns of a text and its label.
class Turns {
public:
    Turns(TurnSink& sink, const SourceLine& source_line) : sink_(sink), source_line_(source_line) {
        sink.begin_episode();
    }

    void context(std::string_view text) {
        flush();
        text_ = text;
        has_text_ = true;
    }
    // Consecutive messages of the assistant are one reply.
    void reply(std::string_view text) {
        if (has_label_) label_ += '\n';
        label_.append(text);
        has_label_ = true;
    }
    void flush() {
        const std::string_view label = label_, text = text_;
        if (has_label_)
            sink_.turn(has_text_ ? text : "__SILENCE__", {&label, 1}, source_line_);
        else if (has_text_)
            sink_.turn(text, {}, source_line_);
        label_.clear();
        has_text_ = has_label_ = false;
    }

private:
    TurnSink& sink_;
    const SourceLine& source_line_;
    std::string text_, label_;
    bool has_text_ = false, has_label_ = false;
};

// Returns a message's text or the texts of its parts. Returns nothing if it has none, as in a tool
// call.
std::optional<std::string> content_of(const Json& message, Warnings& warnings,
                                      const SourceLine& source_line) {
    const auto content = message.find("content");
    if (content == message.end() || content->is_null()) return std::nullopt;
    if (!content->is_array()) return std::string(text_of(*content, source_line));
    std::optional<std::string> all;
    for (const Json& part : *content) {
        if (part.at("type") != "text") {
            warnings.once("parts of messages that are no text are left out", source_line);
            continue;
        }
        const std::string_view text = text_of(part.at("text"), source_line);
        all = all ? *all + '\n' + std::string(text) : std::string(text);
    }
    return all;
}

void read_message(const Json& message, Warnings& warnings, const SourceLine& source_line,
                  Turns& turns) {
    const std::string_view role = text_of(message.at("role"), source_line);
    const bool context =
        std::find(context_roles.begin(), context_roles.end(), role) != context_roles.end();
    if (!context && role != "assistant")
        throw_bad_text(source_line,
                       "a message of the role " + in_quotes(role) +
                           "; roles are system, developer, user, assistant, tool, function");
    const auto text = content_of(message, warnings, source_line);
    if (!text)
        warnings.once("messages without text, as calls of tools, are left out", source_line);
    else if (context || message.value("weight", 1.0) == 0)
        turns.context(*text);
    else
        turns.reply(*text);
}

}  // namespace

void read_messages(const TextChunk& chunk, Warnings& warnings, TurnSink& sink) {
    for_each_json_line(
        chunk, form_of_messages, [&](const Json& line, const SourceLine& source_line) {
            if (line.is_object() && line.contains("dialog"))
                throw_bad_text(source_line, "a conversation in ParlAI's form; say --format jsonl");
            const Json& messages = line.at("messages");
            if (!messages.is_array())
                throw_bad_text(source_line, "\"messages\" is no list; a line is " +
                                                std::string(form_of_messages));
            Turns turns(sink, source_line);
            for (const Json& message : messages)
                read_message(message, warnings, source_line, turns);
            turns.flush();
        });
}

}  // namespace lockstep::data
