// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

// These functions make parts of a page that is both HTML and well-formed XML.
namespace lockstep::launcher::report {

// Returns `text` without markup. Characters that are not UTF-8 or not printable become U+FFFD.
std::string escaped(std::string_view text);

using Cells = std::vector<std::string>;

// `words` aligns the text to the left, `numbers` aligns all columns but the first to the right.
enum class TableKind { words, numbers };

// Returns a table. Cells are plain text. The first cell of each row is its heading; `head` may be
// empty.
std::string table(TableKind kind, const Cells& head, const std::vector<Cells>& rows);

// Returns `content`, which is HTML, hidden until the reader opens it with `line`.
std::string folded(std::string_view line, std::string_view content);

}  // namespace lockstep::launcher::report
