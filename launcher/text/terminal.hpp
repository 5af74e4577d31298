// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// These functions tell whether standard output is a terminal or a file, and how wide it is.
OutputKind output_kind();
int output_columns();

// Writes a line to standard error at once, past everything that waits to be written, or not at all
// if standard error would make the caller wait for more than half a second. On a terminal it
// replaces the line of the cursor, on which the terminal may have printed ^C.
void print_at_once(const std::string& line);

// Throws UnwrittenAnswer when standard output cannot take what was written.
void flush_output();

}  // namespace lockstep::launcher
