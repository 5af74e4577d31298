// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/prompts.hpp"

#include <nlohmann/json.hpp>

#include "data/text/format_hint.hpp"
#include "data/text/json_lines.hpp"
#include "launcher/generate/chat_session.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_names.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/text_start.hpp"
#include "runtime/files/read_lines.hpp"

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
            R"(; a line is {"text": "..."}, {"context": ["turn", ...]} or {"messages": [...]})");
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

// Returns the text of the last message; empty: it is no text.
std::string last_words_of(const nlohmann::json& messages, const std::string& where) {
    if (!messages.is_array() || messages.empty())
        refuse(where, R"("messages" is no list, or an empty one)");
    for (const nlohmann::json& message : messages)
        if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
            refuse(where, R"("messages" has one without a "role")");
    const nlohmann::json& last = messages.back();
    if (!last.contains("content") || !last["content"].is_string()) return "";
    return last["content"].get<std::string>();
}

}  // namespace

std::string with_line_feeds(std::string text) { return replaced(std::move(text), "\\n", "\n"); }
std::string on_one_line(std::string text) { return replaced(std::move(text), "\n", "\\n"); }

bool PromptReader::next_line(std::string& line) {
    if (!read_line(in_, line, origin_, line_ + 1)) {
        if (in_.bad()) throw_errno("--input cannot be read to its end", origin_);
        return false;
    }
    ++line_;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return true;
}

// Other systems and programs write such things beside the text.
void PromptReader::look_at(std::string& line) {
    const data::SourceLine source_line{&origin_, line_};
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
    const bool fields = line.find("\"text\"") != std::string::npos ||
                        line.find("\"context\"") != std::string::npos ||
                        line.find("\"messages\"") != std::string::npos;
    if (format_ != PromptFormat::jsonl && fields && data::looks_like_json(line))
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
    if (json.contains("messages")) {
        prompt.turns = {last_words_of(json["messages"], where)};
        prompt.talk = line;
        return prompt;
    }
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
        if (!next_line(line)) return false;
        look_at(line);
    } while (format_ == PromptFormat::jsonl && line.find_first_not_of(" \t") == std::string::npos);
    const data::SourceLine source_line{&origin_, line_};
    data::Warnings found;
    prompt = prompt_of(line, format_, origin_ + ":" + std::to_string(line_), source_line, found);
    warnings_.append(found);
    prompt.number = count_++;
    return true;
}

}  // namespace lockstep::launcher
