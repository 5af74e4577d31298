// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// UTF-8's byte order mark, which editors of Windows write before a text.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
// Ctrl-Z, which DOS and CP/M write behind a text.
inline constexpr char end_of_dos_text = '\x1A';

// Returns how many bytes a byte order mark takes at the beginning of a file's text: 3 or 0. `head`
// is the beginning, or all of the text. Throws a data error that begins with `name` if the bytes
// show that they are not UTF-8 but UTF-16 or UTF-32, or are compressed.
std::size_t mark_bytes(std::string_view head, const std::string& name);

// As many bytes are enough for mark_bytes().
inline constexpr std::size_t text_start_bytes = 10;

}  // namespace lockstep
