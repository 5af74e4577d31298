// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::data::jinja {

// Returns what stands between the quotes of a text with Python's escapes resolved. Nothing: `why`
// says what is wrong.
std::optional<std::string> unescaped(std::string_view quoted, std::string& why);

// Returns the bytes of the number at the begin, and its digits without underscores.
std::size_t number_bytes(std::string_view text, std::string& digits);

// {% raw %} or {% endraw %}.
struct RawTag {
    std::size_t end = 0;
    char sign = ' ', sign_at_end = ' ';
};
// Returns nothing if another tag stands at `at`, which is the place of a "{%".
std::optional<RawTag> raw_tag_at(std::string_view source, std::size_t at, std::string_view name);

}  // namespace lockstep::data::jinja
