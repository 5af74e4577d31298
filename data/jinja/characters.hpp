// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Characters of UTF-8 as Python's str and re see them.
namespace lockstep::data::jinja {

// Returns the bytes of white space at one end of the text.
std::size_t spaces_at_begin(std::string_view text) noexcept;
std::size_t spaces_at_end(std::string_view text) noexcept;
// Returns the bytes of the first character, and of the last one. The text is not empty.
std::size_t character_bytes(std::string_view text) noexcept;
std::size_t last_character_bytes(std::string_view text) noexcept;
std::size_t count_characters(std::string_view text) noexcept;
// Returns the bytes of the name at the begin; 0: there is none.
std::size_t name_bytes(std::string_view text) noexcept;
// Returns the text in which each line ends with a line feed alone.
std::string with_line_feeds(std::string_view text);

}  // namespace lockstep::data::jinja
