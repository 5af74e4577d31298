// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// Returns the planned parts of a run's memory and the peaks that were seen; empty if they are not
// known.
std::string memory_table(const Run& run);

// Returns what rank 0 sent among the ranks of each group; empty if it sent nothing.
std::string traffic_table(const Run& run);

}  // namespace lockstep::launcher::report
