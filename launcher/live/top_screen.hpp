// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher::live {

// Prints one picture of the run.
void print_top(const std::string& folder);

// Shows the run on the terminal until q or a signal that ends programs, and then leaves the
// terminal as it was. A folder that cannot be read is told on the screen and looked at again.
void show_top(const std::string& folder);

}  // namespace lockstep::launcher::live
