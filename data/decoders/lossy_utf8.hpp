// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::data {

// Returns the text with U+FFFD for what is not UTF-8: one for each longest beginning of a character
// that goes wrong, as Unicode recommends.
std::string lossy_utf8(std::string_view bytes);

// Returns how many bytes at the end are the beginning of a character that may still become whole.
std::size_t incomplete_bytes(std::string_view bytes) noexcept;

}  // namespace lockstep::data
