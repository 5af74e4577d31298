// SPDX-License-Identifier: Apache-2.0
#include "data/text/json_lines.hpp"

#include <nlohmann/json.hpp>

#include "data/text/fields.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::data {

void for_each_json_line(const TextChunk& chunk, std::string_view form,
                        const std::function<void(const nlohmann::json&, const SourceLine&)>& read) {
    const std::string expected = "; a line is " + std::string(form);
    for_each_line(chunk, [&](std::string_view line, const SourceLine& source_line) {
        if (stripped(line).empty()) return;
        try {
            read(parse_json(line), source_line);
        } catch (const nlohmann::json::parse_error& e) {
            throw_bad_text(source_line, "not JSON, at byte " + std::to_string(e.byte) + expected);
        } catch (const nlohmann::json::exception&) {
            throw_bad_text(source_line, "not a conversation" + expected);
        }
    });
}

std::string_view text_of(const nlohmann::json& string, const SourceLine& source_line) {
    const auto& text = string.get_ref<const std::string&>();
    if (text.find('\0') != std::string::npos)
        throw_bad_text(source_line, "a NUL character (\\u0000); text has none: take it out");
    return stripped(text);
}

}  // namespace lockstep::data
