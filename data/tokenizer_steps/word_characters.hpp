// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace lockstep::data {

// \w of the regular expressions by which `tokenizers` finds the borders of words. The text is
// UTF-8.
bool ends_with_word_character(std::string_view text) noexcept;
bool starts_with_word_character(std::string_view text) noexcept;

// Returns how many bytes of white space a text begins or ends with.
std::size_t spaces_at_begin(std::string_view text) noexcept;
std::size_t spaces_at_end(std::string_view text) noexcept;

}  // namespace lockstep::data
