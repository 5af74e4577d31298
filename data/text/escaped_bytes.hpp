// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::data {

// Returns UTF-8 that stands for any bytes, such as a path. UTF-8 stays as it is. Each byte that is
// not part of UTF-8 becomes a character for private use, U+10FF00 plus the byte, as Python's
// "surrogateescape" does with surrogates, which JSON cannot hold. Those characters themselves are
// escaped byte by byte, so that no two texts become one.
std::string escape_bytes(std::string_view bytes);

// Returns the bytes that escape_bytes() had.
std::string unescape_bytes(std::string_view text);

}  // namespace lockstep::data
