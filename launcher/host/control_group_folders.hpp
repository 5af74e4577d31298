// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::launcher {

// Returns the folders of this process's control group and of all groups above it that this process
// can see, for version 2 and for one controller of version 1 ("cpu", "memory"). A hybrid host has
// both. `root` is put before /proc and before the places where the groups are mounted; the result
// contains it. Never throws for what cannot be read: the result is then smaller.
std::vector<std::filesystem::path> control_group_folders(const std::string& root,
                                                         const std::string& controller);

}  // namespace lockstep::launcher
