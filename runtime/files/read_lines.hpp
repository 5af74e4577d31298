// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <string>
#include <string_view>

namespace lockstep {

// A line of a text that a user names is at most this long: 1 MiB.
constexpr std::size_t longest_text_line_bytes = std::size_t{1} << 20;

// Reads a line as std::getline does, but throws the data error "path:number: ..." for one that is
// longer, before it takes more memory than that. `number` counts from 1. A byte order mark before
// the first line and a Ctrl-Z at the end of the text are left out, as they are no part of it; what
// mark_bytes() refuses is refused at the first line.
bool read_line(std::istream& in, std::string& line, const std::string& path, std::uint64_t number);

// No run writes longer lines, so they are not kept in memory.
constexpr std::size_t longest_kept_line_bytes = 1 << 16;

// Calls `action` with each complete line of a file, in order. A line that is too long to be kept is
// passed as an empty one; one that is longer than a text's longest is refused, so that no file that
// only looks large is read for hours. Throws an error that names the file.
void for_each_line(const std::string& path, const std::function<void(std::string_view)>& action);

}  // namespace lockstep
