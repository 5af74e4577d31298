// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::data {

// Returns what to do with a line that was refused, such as "; it looks like ..., so say --format
// messages", if it looks like one of another format or program. Otherwise the text is empty.
std::string format_hint(std::string_view line);

// Returns true for a line that looks like a JSON object, or like an array of them.
bool looks_like_json(std::string_view line) noexcept;

// Returns true for a line that looks like ParlAI's text.
bool looks_like_parlai_text(std::string_view line) noexcept;

}  // namespace lockstep::data
