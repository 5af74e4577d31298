// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// Describes in a sentence how a run ended. For several runs it describes those that failed.
std::string endings(const std::vector<Run>& runs, const std::vector<std::string>& labels);

// Returns a table with one column for each run.
std::string summary(const std::vector<Run>& runs, const std::vector<std::string>& labels);

}  // namespace lockstep::launcher::report
