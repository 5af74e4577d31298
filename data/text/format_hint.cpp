// SPDX-License-Identifier: Apache-2.0
#include "data/text/format_hint.hpp"

#include "data/text/fbdialog.hpp"
#include "data/text/fields.hpp"

namespace lockstep::data {
namespace {

bool has(std::string_view line, std::string_view word) noexcept {
    return line.find(word) != std::string_view::npos;
}

std::string json_hint(std::string_view line) {
    if (has(line, "\"messages\"")) return "; it looks like chat messages, so say --format messages";
    if (has(line, "\"dialog\""))
        return "; it looks like ParlAI's conversations, so say --format jsonl";
    return "; it looks like JSON, of which {\"messages\": [...]} (--format messages) and "
           "{\"dialog\": [...]} (--format jsonl) can be read, one object a line";
}

}  // namespace

bool looks_like_json(std::string_view line) noexcept {
    const std::string_view text = stripped(line);
    return text.starts_with('{') && text.find('"') != std::string_view::npos;
}

bool looks_like_parlai_text(std::string_view line) noexcept {
    return (line.starts_with("text:") || line.starts_with("id:")) &&
           (has(line, "\tlabels:") || has(line, "\ttext:"));
}

std::string format_hint(std::string_view line) {
    const std::string_view text = stripped(line);
    if (text == "{" || text == "[" || text == "[{")
        return "; it looks like JSON over several lines; write one conversation a line (jq -c)";
    if (text.starts_with("[{") || looks_like_json(line)) return json_hint(line);
    if (looks_like_parlai_text(line)) return "; it looks like ParlAI text, so say --format parlai";
    if (has(line, "\t") && fbdialog_line_number(line) == 1)
        return "; it looks like FbDialog text, so say --format fbdialog";
    return "";
}

}  // namespace lockstep::data
