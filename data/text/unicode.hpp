// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "data/patterns/utf8.hpp"

// Reproduces Python's `re` classes and `str.lower` (Python 3.11, Unicode 14) on UTF-8.
namespace lockstep::data::unicode {

enum class Class : unsigned char { other, word, space };

// Returns the class of a character: `\w` is word, `\s` is space.
Class class_of(char32_t code_point) noexcept;

struct Decoded {
    char32_t code_point = 0;
    std::size_t bytes = 0;  // 0: not UTF-8
};

// Returns the code point at the beginning of `text`, which must not be empty.
Decoded decode(std::string_view text) noexcept;
using utf8::append;

bool is_ascii(std::string_view text) noexcept;
// Returns the offset of the first byte that is not UTF-8; text.size() if there is none.
std::size_t first_invalid(std::string_view text) noexcept;

// Works as str.lower(), including the rule for the final sigma. Bytes that are not UTF-8 stay.
std::string lower(std::string_view text);

}  // namespace lockstep::data::unicode
