// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::launcher {

// Returns the tightest limit among this process's control group and all groups above it, for
// control groups of version 1 and 2. `root` is put before /proc and /sys.
std::int64_t control_group_bytes(const std::string& root);  // `unlimited`: no limit
// Returns what the groups leave of their limits. Files that are only kept for the next reader do
// not count as used.
std::int64_t control_group_free_bytes(const std::string& root);  // `unlimited`: no limit
double control_group_cores(const std::string& root);  // cores' worth of time; 0: no quota

}  // namespace lockstep::launcher
