// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/text/unicode.hpp"

namespace lockstep::data {

// Calls `part(std::string_view)` for every part of a text between separators. An empty text has one
// empty part, as with Python's str.split(separator).
template <class Part>
void for_each_part(std::string_view text, char separator, Part&& part) {
    for (;;) {
        const std::size_t end = text.find(separator);
        part(text.substr(0, end));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

// Returns the text without spaces at both ends.
inline std::string_view stripped(std::string_view text) noexcept {
    constexpr std::string_view spaces = " \t\n\v\f\r\x1C\x1D\x1E\x1F";
    const std::size_t begin = text.find_first_not_of(spaces);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

// Quotes a text for error messages: at most 40 bytes, never cut inside a character.
inline std::string in_quotes(std::string_view text) {
    constexpr std::size_t longest = 40;
    const std::string_view head = text.substr(0, longest);
    std::string out = "'";
    out += head.substr(0, unicode::first_invalid(head));
    out += text.size() > longest ? "...'" : "'";
    return out;
}

}  // namespace lockstep::data
