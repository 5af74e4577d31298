// SPDX-License-Identifier: Apache-2.0
#include "data/text/conversation_shapes.hpp"

#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "data/text/fields.hpp"

namespace lockstep::data {
namespace {

using Line = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> roles_of_share_gpt{
    {{"human", "user"},
     {"user", "user"},
     {"gpt", "assistant"},
     {"chatgpt", "assistant"},
     {"bing", "assistant"},
     {"bard", "assistant"},
     {"model", "assistant"},
     {"assistant", "assistant"},
     {"function_call", "assistant"},
     {"system", "system"},
     {"tool", "tool"},
     {"function", "tool"},
     {"observation", "tool"}}};

Line message(std::string_view role, const Line& content) {
    return {{"role", std::string(role)}, {"content", content}};
}

const Line& text_member(const Line& object, const char* name, const SourceLine& source_line) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    if (!object.is_object() || found == object.end() || !found->is_string())
        throw_bad_text(source_line, "no text as \"" + std::string(name) + "\"");
    return *found;
}

// Tells whether a member that may be missing has words. Another value than a text would be lost.
bool has_text(const Line& line, const char* name, const SourceLine& source_line) {
    const auto found = line.find(name);
    if (found == line.end() || found->is_null()) return false;
    return !text_member(line, name, source_line).get_ref<const std::string&>().empty();
}

// Gives a turn the names of a message. What else it has, such as a weight, stays.
Line renamed(const Line& turn, std::string_view role, const Line& content) {
    Line changed = message(role, content);
    for (const auto& [name, value] : turn.items())
        if (name != "from" && name != "value") changed[name] = value;
    return changed;
}

// Alpaca's earlier turns. Some files have an empty text or null for none.
void add_history(const Line& history, const SourceLine& source_line, Line& messages) {
    if (history.is_null() || history == "") return;
    if (!history.is_array())
        throw_bad_text(source_line, "\"history\" is no list of pairs of texts");
    for (const Line& pair : history) {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
            throw_bad_text(source_line, "\"history\" has something other than two texts");
        messages.push_back(message("user", pair[0]));
        messages.push_back(message("assistant", pair[1]));
    }
}

Line of_share_gpt(const Line& line, const SourceLine& source_line) {
    if (!line["conversations"].is_array())
        throw_bad_text(source_line, "\"conversations\" is no list");
    Line messages = Line::array();
    if (has_text(line, "system", source_line))
        messages.push_back(message("system", line["system"]));
    for (const Line& turn : line["conversations"]) {
        if (turn.is_object() && turn.contains("role") && turn.contains("content")) {
            messages.push_back(turn);
            continue;
        }
        const auto& from = text_member(turn, "from", source_line).get_ref<const std::string&>();
        std::string_view role;
        for (const auto& [name, known] : roles_of_share_gpt)
            if (name == from) role = known;
        if (role.empty())
            throw_bad_text(source_line, "a turn \"from\" " + in_quotes(from) +
                                            "; turns are from human, gpt, system, function_call "
                                            "or observation");
        messages.push_back(renamed(turn, role, text_member(turn, "value", source_line)));
    }
    return messages;
}

Line of_alpaca(const Line& line, const SourceLine& source_line) {
    Line messages = Line::array();
    if (has_text(line, "system", source_line))
        messages.push_back(message("system", line["system"]));
    if (line.contains("history")) add_history(line["history"], source_line, messages);
    auto asked = text_member(line, "instruction", source_line).get<std::string>();
    if (has_text(line, "input", source_line)) asked += "\n" + line["input"].get<std::string>();
    messages.push_back(message("user", asked));
    messages.push_back(message("assistant", text_member(line, "output", source_line)));
    return messages;
}

Line of_pair(const Line& line, const SourceLine& source_line) {
    const Line &prompt = line["prompt"], &completion = line["completion"];
    if (prompt.is_string() && completion.is_string())
        return {message("user", prompt), message("assistant", completion)};
    if (!prompt.is_array() || !completion.is_array())
        throw_bad_text(source_line,
                       "\"prompt\" and \"completion\" are neither two texts nor two lists");
    Line messages = prompt;
    for (const Line& one : completion) messages.push_back(one);
    return messages;
}

bool has(const nlohmann::json& line, const char* a, const char* b) {
    return line.contains(a) && line.contains(b);
}

Line with_messages(Line line, Line messages, std::initializer_list<const char*> members) {
    for (const char* member : members) line.erase(member);
    line["messages"] = std::move(messages);
    return line;
}

std::string_view form_of(const Line& line) {
    if (line.contains("messages")) return R"({"messages": ...})";
    if (line.contains("conversations")) return R"({"conversations": ...})";
    if (line.contains("instruction") && line.contains("output"))
        return R"({"instruction": ..., "output": ...})";
    return R"({"prompt": ..., "completion": ...})";
}

}  // namespace

bool has_other_shape(const nlohmann::json& line) {
    return line.is_object() && !line.contains("messages") &&
           (line.contains("conversations") || has(line, "instruction", "output") ||
            has(line, "prompt", "completion"));
}

void note_shape(const Line& line, Warnings& warnings, const SourceLine& source_line) {
    if (line.is_object()) warnings.note_form(form_of(line), source_line);
}

Line as_messages(Line line, Warnings& warnings, const SourceLine& source_line) {
    if (!line.is_object()) return line;
    if (line.contains("messages")) return line;
    if (line.contains("conversations")) {
        warnings.add("ShareGPT's \"conversations\" are read as messages", source_line);
        Line messages = of_share_gpt(line, source_line);
        return with_messages(std::move(line), std::move(messages), {"conversations", "system"});
    }
    if (line.contains("instruction") && line.contains("output")) {
        warnings.add("Alpaca's \"instruction\" and \"output\" are read as messages", source_line);
        Line messages = of_alpaca(line, source_line);
        return with_messages(std::move(line), std::move(messages),
                             {"instruction", "input", "output", "system", "history"});
    }
    if (line.contains("prompt") && line.contains("completion")) {
        warnings.add("\"prompt\" and \"completion\" are read as messages", source_line);
        Line messages = of_pair(line, source_line);
        return with_messages(std::move(line), std::move(messages), {"prompt", "completion"});
    }
    return line;
}

}  // namespace lockstep::data
