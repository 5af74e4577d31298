// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

// Pieces of a page that is HTML and well-formed XML at once.
namespace lockstep::launcher::report {

// `text` as it is to be read: no markup, and what is not UTF-8 or not printable as U+FFFD.
std::string escaped(std::string_view text);

using Cells = std::vector<std::string>;

// words: text to the left; numbers: all columns but the first to the right.
enum class TableKind { words, numbers };

// Cells are plain text. The first of each row is its heading; `head` may be empty.
std::string table(TableKind kind, const Cells& head, const std::vector<Cells>& rows);

// `content`, HTML, behind a line that opens it.
std::string folded(std::string_view line, std::string_view content);

}  // namespace lockstep::launcher::report
