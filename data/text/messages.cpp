// SPDX-License-Identifier: Apache-2.0
#include "data/text/messages.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "data/text/conversation_shapes.hpp"
#include "data/text/fields.hpp"
#include "data/text/json_lines.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::json;

constexpr std::string_view form_of_messages =
    R"({"messages": [{"role": "user", "content": "..."}, {"role": "assistant", ...}]})";

// As conversation_shapes.cpp calls it.
constexpr std::string_view native_form = R"({"messages": ...})";

constexpr std::array<std::string_view, 5> context_roles = {"system", "developer", "user", "tool",
                                                           "function"};

// What else a message has, such as a call of a tool, is not in the text of the conversation.
constexpr std::array<std::string_view, 5> members_of_message = {"role", "content", "weight", "name",
                                                                "id"};

// Turns a conversation's messages into turns of a text and its label.
class Turns {
public:
    Turns(CheckedTurns& turns, Texts form, const SourceLine& source_line)
        : turns_(turns), form_(form), source_line_(source_line) {
        turns.begin_conversation(source_line);
        turns.begin_episode();
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
            turns_.turn(has_text_ ? text : silence(form_), {&label, 1}, source_line_);
        else if (has_text_)
            turns_.turn(text, {}, source_line_);
        label_.clear();
        has_text_ = has_label_ = false;
    }

private:
    CheckedTurns& turns_;
    const Texts form_;
    const SourceLine& source_line_;
    std::string text_, label_;
    bool has_text_ = false, has_label_ = false;
};

// Throws a data error that begins with the message, counted from 1.
class Message {
public:
    Message(const Json& json, std::size_t number, const SourceLine& source_line)
        : json_(json), number_(number), source_line_(source_line) {
        if (!json.is_object()) refuse("is no object");
    }

    [[noreturn]] void refuse(const std::string& what) const {
        throw_bad_text(source_line_, "message " + std::to_string(number_) + " " + what +
                                         "; a line is " + std::string(form_of_messages));
    }
    const Json* find(const char* name) const {
        const auto found = json_.find(name);
        return found == json_.end() || found->is_null() ? nullptr : &*found;
    }
    std::string_view role() const {
        const Json* role = find("role");
        if (role == nullptr) refuse("has no 'role'");
        if (!role->is_string()) refuse("has a 'role' that is no text");
        return text_of(*role, Texts::parlais, source_line_);
    }
    bool has_weight_zero() const {
        const Json* weight = find("weight");
        if (weight != nullptr && !weight->is_number()) refuse("has a 'weight' that is no number");
        return weight != nullptr && *weight == 0;
    }
    const Json& json() const noexcept { return json_; }

private:
    const Json& json_;
    std::size_t number_;
    const SourceLine& source_line_;
};

// Returns the text of a part of a message. Returns nothing if it is a picture or the like.
const Json* text_part(const Json& part, const Message& message) {
    const auto type = part.is_object() ? part.find("type") : part.end();
    if (!part.is_object() || type == part.end()) message.refuse("has a part without a 'type'");
    if (*type != "text") return nullptr;
    const auto text = part.find("text");
    if (text == part.end() || !text->is_string()) message.refuse("has a part without a 'text'");
    return &*text;
}

// Returns a message's text or the texts of its parts. Returns nothing if it has none, as in a tool
// call.
std::optional<std::string> content_of(const Message& message, Texts form, Warnings& warnings,
                                      const SourceLine& source_line) {
    const Json* content = message.find("content");
    if (content == nullptr) return std::nullopt;
    if (content->is_string()) return std::string(text_of(*content, form, source_line));
    if (!content->is_array())
        message.refuse("has a 'content' that is neither a text nor a list of parts");
    std::optional<std::string> all;
    for (const Json& part : *content) {
        const Json* found = text_part(part, message);
        if (found == nullptr) {
            warnings.add("parts of messages that are no text are left out", source_line);
            continue;
        }
        const std::string_view text = text_of(*found, form, source_line);
        all = all ? *all + '\n' + std::string(text) : std::string(text);
    }
    return all;
}

void read_message(const Message& message, Texts form, Warnings& warnings,
                  const SourceLine& source_line, Turns& turns) {
    const std::string_view role = message.role();
    const bool context =
        std::find(context_roles.begin(), context_roles.end(), role) != context_roles.end();
    if (!context && role != "assistant")
        throw_bad_text(source_line,
                       "a message of the role " + in_quotes(role) +
                           "; roles are system, developer, user, assistant, tool, function");
    const auto text = content_of(message, form, warnings, source_line);
    warn_of_members(message.json(), members_of_message,
                    "the member @ of a message is unknown and is left out", warnings, source_line);
    const bool untrained = message.has_weight_zero();
    if (!text)
        warnings.add("messages without text, as calls of tools, are left out", source_line);
    else if (context || untrained)
        turns.context(*text);
    else
        turns.reply(*text);
}

void read_line(const Json& line, Texts form, Warnings& warnings, const SourceLine& source_line,
               CheckedTurns& checked) {
    if (line.is_object() && line.contains("dialog"))
        throw_bad_text(source_line, "a conversation in ParlAI's form; say --format jsonl");
    if (!line.is_object() || !line.contains("messages"))
        throw_bad_text(source_line, "no \"messages\"; a line is " + std::string(form_of_messages));
    const Json& messages = line["messages"];
    if (!messages.is_array())
        throw_bad_text(source_line,
                       "\"messages\" is no list; a line is " + std::string(form_of_messages));
    std::vector<std::string_view> known(members_of_origin().begin(), members_of_origin().end());
    known.push_back("messages");
    warn_of_members(line, known, "the member @ of a line is unknown and is left out", warnings,
                    source_line);
    Turns turns(checked, form, source_line);
    std::size_t number = 0;
    for (const Json& message : messages)
        read_message({message, ++number, source_line}, form, warnings, source_line, turns);
    turns.flush();
}

}  // namespace

void read_messages(const TextChunk& chunk, Texts form, Warnings& warnings, CheckedTurns& turns) {
    for_each_json_line(chunk, form_of_messages,
                       [&](const Json& line, const SourceLine& source_line) {
                           if (!has_other_shape(line)) {
                               warnings.note_form(native_form, source_line);
                               return read_line(line, form, warnings, source_line, turns);
                           }
                           note_shape(line, warnings, source_line);
                           const Json changed(as_messages(line, warnings, source_line));
                           read_line(changed, form, warnings, source_line, turns);
                       });
}

}  // namespace lockstep::data
