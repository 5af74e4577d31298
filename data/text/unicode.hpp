// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// What Python's `re` and `str.lower` do (Python 3.11, Unicode 14), on UTF-8.
namespace lockstep::data::unicode {

enum class Class : unsigned char { other, word, space };

// `\w` and `\s`.
Class class_of(char32_t code_point) noexcept;

struct Decoded {
    char32_t code_point = 0;
    std::size_t bytes = 0;  // 0: not UTF-8
};

// The code point at the beginning of `text`, which is not empty.
Decoded decode(std::string_view text) noexcept;
void append(char32_t code_point, std::string& out);

bool is_ascii(std::string_view text) noexcept;
// The first byte that is not UTF-8; text.size() when there is none.
std::size_t first_invalid(std::string_view text) noexcept;

// str.lower(), the final-sigma rule included. Bytes that are not UTF-8 stay.
std::string lower(std::string_view text);

}  // namespace lockstep::data::unicode
