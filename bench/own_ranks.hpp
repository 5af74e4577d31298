// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::bench {

// Starts this program once more for each of `ranks` ranks, with its own arguments, and returns the
// exit code; nothing where it is already a rank of some launcher, or where one rank was asked for.
std::optional<int> start_own_ranks(int ranks, const std::vector<std::string>& arguments);

}  // namespace lockstep::bench
