// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/prompts.hpp"

#include <nlohmann/json.hpp>

#include "launcher/generate/chat_session.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
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
        where + ": " + what + R"(; a line is {"text": "..."} or {"context": ["turn", ...]})");
}

std::vector<std::string> turns_of(const std::string& line, const std::string& where) {
    nlohmann::json json;
    try {
        json = parse_json(line);
    } catch (const nlohmann::json::parse_error& e) {
        refuse(where, "not JSON, at byte " + std::to_string(e.byte));
    } catch (const nlohmann::json::out_of_range&) {
        refuse(where, "a number that is too large");
    }
    if (!json.is_object()) refuse(where, "not a JSON object");
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

}  // namespace

std::string with_line_feeds(std::string text) { return replaced(std::move(text), "\\n", "\n"); }
std::string on_one_line(std::string text) { return replaced(std::move(text), "\n", "\\n"); }

bool PromptReader::next(Prompt& prompt) {
    std::string line;
    do {
        if (!read_line(in_, line, origin_, line_ + 1)) {
            if (in_.bad()) throw_errno("--input cannot be read to its end", origin_);
            return false;
        }
        ++line_;
        if (!line.empty() && line.back() == '\r') line.pop_back();
    } while (format_ == PromptFormat::jsonl && line.find_first_not_of(" \t") == std::string::npos);
    const std::string where = origin_ + ":" + std::to_string(line_);
    require_utf8(line, where);
    prompt.turns =
        format_ == PromptFormat::jsonl ? turns_of(line, where) : std::vector{with_line_feeds(line)};
    prompt.number = count_++;
    return true;
}

}  // namespace lockstep::launcher
