// SPDX-License-Identifier: Apache-2.0
#include "data/text/format_hint.hpp"

#include <array>

#include "data/text/fbdialog.hpp"
#include "data/text/fields.hpp"

namespace lockstep::data {
namespace {

bool has(std::string_view line, std::string_view word) noexcept {
    return line.find(word) != std::string_view::npos;
}

// Says how other programs' conversations become messages. The filter follows that for an array.
struct Shape {
    const char *members[2], *name, *filter;
};
constexpr std::array shapes{
    Shape{{"\"conversations\"", "\"value\""},
          "ShareGPT's conversations",
          R"({messages: [.conversations[] | {role: ({human: "user", gpt: "assistant"}[.from] // )"
          R"(.from), content: .value}]})"},
    Shape{{"\"instruction\"", "\"output\""},
          "Alpaca's instructions",
          R"({messages: [{role: "user", content: ([.instruction, .input // ""] | )"
          R"(map(select(. != "")) | join("\n"))}, {role: "assistant", content: .output}]})"},
    Shape{{"\"prompt\"", "\"completion\""},
          "prompts with completions",
          R"(if (.prompt | type) == "array" then {messages: (.prompt + .completion)} else )"
          R"({messages: [{role: "user", content: .prompt}, {role: "assistant", content: )"
          R"(.completion}]} end)"}};

std::string by_jq(const std::string& filter) {
    return ": write them anew by jq -c '" + filter +
           "' FILE > NEW.jsonl, and read that by --format messages";
}

std::string json_hint(std::string_view line) {
    const bool array = line.starts_with('[');
    for (const Shape& shape : shapes)
        if (has(line, shape.members[0]) && has(line, shape.members[1]))
            return std::string("; it looks like ") + shape.name +
                   (array ? by_jq(std::string(".[] | ") + shape.filter)
                          : std::string(", so say --format messages"));
    if (array)
        return "; it looks like a JSON array; write one object a line by jq -c '.[]' FILE > "
               "NEW.jsonl, and read that";
    if (has(line, "\"messages\"")) return "; it looks like chat messages, so say --format messages";
    if (has(line, "\"dialog\""))
        return "; it looks like ParlAI's conversations, so say --format jsonl";
    return "; it looks like JSON, of which {\"messages\": [...]} (--format messages) and "
           "{\"dialog\": [...]} (--format jsonl) can be read, one object a line" +
           std::string(
               has(line, "\"text\"") ? "; for documents of {\"text\": ...} say --format text" : "");
}

}  // namespace

bool looks_like_json(std::string_view line) noexcept {
    const std::string_view text = stripped(line);
    const bool begins = text.starts_with('{') || text.starts_with("[{");
    return begins && text.find('"') != std::string_view::npos;
}

bool looks_like_parlai_text(std::string_view line) noexcept {
    return (line.starts_with("text:") || line.starts_with("id:")) &&
           (has(line, "\tlabels:") || has(line, "\ttext:"));
}

std::string format_hint(std::string_view line) {
    const std::string_view text = stripped(line);
    if (text == "[" || text == "[{")
        return "; it looks like a JSON array over several lines; write one object a line by jq -c "
               "'.[]' FILE > NEW.jsonl, and read that";
    if (text == "{")
        return "; it looks like JSON over several lines; write one object a line by jq -c . FILE > "
               "NEW.jsonl, and read that";
    if (text.starts_with("[{") || looks_like_json(line)) return json_hint(text);
    if (looks_like_parlai_text(line)) return "; it looks like ParlAI text, so say --format parlai";
    if (has(line, "\t") && fbdialog_line_number(line) == 1)
        return "; it looks like FbDialog text, so say --format fbdialog";
    return "";
}

}  // namespace lockstep::data
