// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "data/text/text_chunks.hpp"
#include "data/text/warnings.hpp"

namespace lockstep::data {

// Looks at the characters of a chunk that other systems and programs write beside the text. Returns
// nothing if there are none. Otherwise it returns the chunk without byte order marks and Ctrl-Z at
// the beginnings of lines, which joined files have, and without Ctrl-Z at the end of the file. It
// warns of marks between lines, and of carriage returns that are not part of a line's end. Throws a
// data error that names the line for a NUL byte, for what is not UTF-8, and for a file whose lines
// end with a carriage return alone.
std::optional<TextChunk> with_plain_lines(const TextChunk& chunk, Warnings& warnings);

}  // namespace lockstep::data
