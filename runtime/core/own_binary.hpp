// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep {

// The file to execute for another process of this program: its own, or the script that handed it to
// a loader of its choice (cmake/portable/start.sh).
std::string own_binary();

// The same by the name that this process was called by, which may be a link's that says which
// program it is to be. `name` is argv[0].
std::string own_binary_called(const char* name);

}  // namespace lockstep
