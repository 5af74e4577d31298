// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json_fwd.hpp>

#include "data/text/text_chunks.hpp"
#include "data/text/warnings.hpp"

namespace lockstep::data {

// Tells whether a line is a conversation in another form than {"messages": [...]}: ShareGPT's
// "conversations", Alpaca's "instruction" and "output", or "prompt" and "completion".
bool has_other_shape(const nlohmann::json& line);

// Tells whether a message says something, if only an empty text: it has one of these members. One
// whose "content" is misspelt would be nothing to a lenient chat template.
template <class Message>
bool has_content(const Message& message) {
    constexpr std::array members{"content",  "tool_calls",     "function_call", "reasoning_content",
                                 "thinking", "tool_responses", "tool_results",  "reasoning"};
    return std::ranges::any_of(members, [&](const char* name) {
        const auto found = message.find(name);
        return found != message.end() && !found->is_null();
    });
}

// Throws a data error with the line if an earlier line of the file had another form.
void note_shape(const nlohmann::ordered_json& line, Warnings& warnings,
                const SourceLine& source_line);

// Returns the line with "messages" in place of such members; others stay. A line that has
// "messages" is returned as it is. Adds a warning that tells the form. Throws a data error with the
// line if a part is missing or of another type.
nlohmann::ordered_json as_messages(nlohmann::ordered_json line, Warnings& warnings,
                                   const SourceLine& source_line);

}  // namespace lockstep::data
