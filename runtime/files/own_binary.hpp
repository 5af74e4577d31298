// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep {

// Returns the file to execute for another process of this program: the binary itself, or the script
// that started it through a loader of its own (cmake/portable/start.sh).
std::string own_binary();

// Returns the same, but by the name that this process was called by. The name may be a link that
// selects the program to be. `name` is argv[0].
std::string own_binary_called(const char* name);

}  // namespace lockstep
