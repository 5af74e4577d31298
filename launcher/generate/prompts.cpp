// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/prompts.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "data/text/conversation_shapes.hpp"
#include "data/text/format_hint.hpp"
#include "data/text/json_lines.hpp"
#include "launcher/generate/chat_session.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_names.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/text_start.hpp"

namespace lockstep::launcher {

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
    return text;
}

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
    throw Error(
        ErrorKind::data,
        where + ": " + what +
            R"(; a line is {"text": "..."}, {"prompt": "..."}, {"context": ["turn", ...]}, )"
            R"({"messages": [...]}, or has ShareGPT's or Alpaca's form)");
}

nlohmann::json object_of(const std::string& line, const std::string& where) {
    nlohmann::json json;
    try {
        json = parse_json(line);
    } catch (const nlohmann::json::parse_error& e) {
        refuse(where, "not JSON, at byte " + std::to_string(e.byte));
    } catch (const nlohmann::json::out_of_range&) {
        refuse(where, "a number that is too large");
    }
    if (!json.is_object()) refuse(where, "not a JSON object");
    const std::string twice = repeated_name(line);
    if (!twice.empty()) refuse(where, '"' + shown(twice) + "\" twice in an object");
    return json;
}

std::vector<std::string> turns_of(const nlohmann::json& json, const std::string& where) {
    const bool text = json.contains("text"), context = json.contains("context");
    if (text == context)
        refuse(where, text ? R"(both "text" and "context")" : R"(neither "text" nor "context")");
    if (text) {
        if (!json["text"].is_string()) refuse(where, R"("text" is not a string)");
        return {json["text"].get<std::string>()};
    }
    if (!json["context"].is_array()) refuse(where, R"("context" is not a list)");
    std::vector<std::string> turns;
    for (const nlohmann::json& turn : json["context"]) {
        if (!turn.is_string()) refuse(where, R"("context" has a turn that is not a string)");
        turns.push_back(turn.get<std::string>());
    }
    return turns;
}

// Returns the text of a message, or those of its parts; empty: it has none.
std::string words_of(const nlohmann::json& message) {
    const auto content = message.find("content");
    if (content == message.end()) return "";
    if (content->is_string()) return content->get<std::string>();
    std::string words;
    if (content->is_array())
        for (const nlohmann::json& part : *content)
            if (part.is_object() && part.contains("text") && part["text"].is_string())
                words += (words.empty() ? "" : "\n") + part["text"].get<std::string>();
    return words;
}

// Returns the texts of the messages, of which the last one may be empty.
std::vector<std::string> words_of_all(const nlohmann::json& messages, const std::string& where) {
    if (!messages.is_array() || messages.empty())
        refuse(where, R"("messages" is no list, or an empty one)");
    for (const nlohmann::json& message : messages) {
        if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
            refuse(where, R"("messages" has one without a "role")");
        if (!data::has_content(message)) refuse(where, R"("messages" has one without a "content")");
        const auto content = message.find("content");
        if (content != message.end() && (content->is_number() || content->is_boolean()))
            refuse(where, R"("messages" has a "content" that is neither a text nor a list)");
    }
    std::vector<std::string> all;
    for (const nlohmann::json& message : messages) {
        std::string words = words_of(message);
        if (!words.empty() || &message == &messages.back()) all.push_back(std::move(words));
    }
    return all;
}

// Adds the answer that a line of data for training has, and a line of prompts may lack.
void add_answer(nlohmann::ordered_json& line) {
    if (line.contains("instruction") && !line.contains("output")) line["output"] = "";
    if (!line.contains("prompt") || line.contains("completion")) return;
    line["completion"] =
        line["prompt"].is_array() ? nlohmann::ordered_json::array() : nlohmann::ordered_json("");
}

// Returns the line as "messages" up to the last answer; empty: it has another form.
std::string talk_of_shape(const std::string& text, data::Warnings& found,
                          const data::SourceLine& source_line, const std::string& where) {
    auto line = nlohmann::ordered_json::parse(text);
    add_answer(line);
    if (line.contains("text") || line.contains("context") ||
        !data::has_other_shape(nlohmann::json(line)))
        return "";
    line = data::as_messages(std::move(line), found, source_line);
    auto& messages = line["messages"];
    while (!messages.empty() && messages.back().is_object() &&
           messages.back().value("role", nlohmann::ordered_json()) == "assistant")
        messages.erase(messages.size() - 1);
    if (messages.empty()) refuse(where, "a conversation that asks nothing");
    return dump_json(line);
}

Prompt prompt_of_talk(std::string talk, TalkShape shape, const std::string& where) {
    Prompt prompt;
    prompt.turns = words_of_all(parse_json(talk)["messages"], where);
    for (const std::string& turn : prompt.turns) require_text(turn, where);
    prompt.talk = std::move(talk);
    prompt.shape = shape;
    prompt.where = where;
    return prompt;
}

// Tells whether a line names a member of what --format jsonl reads.
bool has_member(const std::string& line) {
    constexpr std::array members{"\"text\"",     "\"context\"",       "\"prompt\"",
                                 "\"messages\"", "\"conversations\"", "\"instruction\""};
    return std::ranges::any_of(
        members, [&](const char* member) { return line.find(member) != std::string::npos; });
}

}  // namespace

std::string with_line_feeds(std::string text) { return replaced(std::move(text), "\\n", "\n"); }
std::string on_one_line(std::string text) { return replaced(std::move(text), "\n", "\\n"); }

// Other systems and programs write such things beside the text.
void PromptReader::look_at(std::string& line) {
    const data::SourceLine source_line{&lines_.origin(), lines_.number()};
    if (!line.empty() && line.back() == '\r') line.pop_back();
    data::Warnings found;
    if (line.starts_with(byte_order_mark)) {
        line.erase(0, byte_order_mark.size());
        found.add("a byte order mark at the beginning of a line is left out; were files joined?",
                  source_line);
    }
    if (line.find('\r') != std::string::npos)
        found.add(
            "a carriage return without a line feed is no end of a line and stays in the prompt; if "
            "lines end so, convert the file with tr '\\r' '\\n'",
            source_line);
    if (format_ != PromptFormat::jsonl && has_member(line) && data::looks_like_json(line))
        found.add("a line of JSON is read as it is, with its braces; say --format jsonl",
                  source_line);
    warnings_.append(found);
}

Prompt prompt_of(const std::string& line, PromptFormat format, const std::string& where,
                 const data::SourceLine& source_line, data::Warnings& found) {
    require_text(line, where);
    Prompt prompt;
    prompt.turns = {with_line_feeds(line)};
    prompt.where = where;
    if (format != PromptFormat::jsonl) return prompt;
    const nlohmann::json json = object_of(line, where);
    if (json.contains("messages")) return prompt_of_talk(line, TalkShape::messages, where);
    if (std::string talk = talk_of_shape(line, found, source_line, where); !talk.empty())
        return prompt_of_talk(std::move(talk), TalkShape::other, where);
    prompt.turns = turns_of(json, where);
    for (const std::string& turn : prompt.turns) require_text(turn, where);
    std::vector<std::string_view> known(data::members_of_origin().begin(),
                                        data::members_of_origin().end());
    known.insert(known.end(), {"text", "context"});
    data::warn_of_members(json, known, "the member @ is unknown and is left out", found,
                          source_line);
    return prompt;
}

bool PromptReader::next(Prompt& prompt) {
    std::string line;
    do {
        if (!lines_.next(line)) return false;
        look_at(line);
    } while (format_ == PromptFormat::jsonl && line.find_first_not_of(" \t") == std::string::npos);
    const data::SourceLine source_line{&lines_.origin(), lines_.number()};
    data::Warnings found;
    prompt = prompt_of(line, format_, lines_.origin() + ":" + std::to_string(lines_.number()),
                       source_line, found);
    warnings_.append(found);
    prompt.number = count_++;
    return true;
}

}  // namespace lockstep::launcher
