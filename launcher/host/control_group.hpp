// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::launcher {

// The tightest limits on the way from this process's control group up to the root, of version 1 and
// 2. `root` goes before /proc and /sys.
std::int64_t control_group_bytes(const std::string& root);  // `unlimited`: none
double control_group_cores(const std::string& root);        // cores' worth of time; 0: no quota

}  // namespace lockstep::launcher
