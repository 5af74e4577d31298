// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "data/text/text_chunks.hpp"

namespace lockstep::data {

// Calls `read` for every line of the chunk that is not blank. A line that is not JSON, or has other
// types than `read` expects, is a data error that names the line and shows `form`, the expected
// form.
void for_each_json_line(const TextChunk& chunk, std::string_view form,
                        const std::function<void(const nlohmann::json&, const SourceLine&)>& read);

// Returns the string without spaces at both ends. Throws a data error for a NUL character
// (`\u0000`), and nlohmann's error if the value is not a string.
std::string_view text_of(const nlohmann::json& string, const SourceLine& source_line);

}  // namespace lockstep::data
