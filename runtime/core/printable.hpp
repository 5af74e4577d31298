// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// Returns text that a terminal shows as it is, on one line. Control characters, and bytes that are
// not part of UTF-8, become \xNN. Other text is unchanged, so a second call changes nothing.
std::string printable(std::string_view text);

// Returns the same for lines that Lockstep wrote itself: line feeds and tabs stay.
std::string printable_lines(std::string_view text);

// Returns a value of the user or of a file for a message: printable, and at most 80 characters of
// it. Three dots follow a value that was cut.
std::string shown(std::string_view value);

// Returns a message that is printable and short: the middle of a longer one becomes " ... ",
// because the place is named in its beginning and the remedy at its end.
std::string shown_message(std::string_view message);

}  // namespace lockstep
