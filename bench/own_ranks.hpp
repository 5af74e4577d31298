// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::bench {

// Starts this program again once per rank with the same arguments and returns the exit code.
// Returns nothing if this process is already a rank of a launcher, or if one rank was requested.
std::optional<int> start_own_ranks(int ranks, const std::vector<std::string>& arguments);

}  // namespace lockstep::bench
