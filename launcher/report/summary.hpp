// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// How a run ended, in a sentence; of several those that failed.
std::string endings(const std::vector<Run>& runs, const std::vector<std::string>& labels);

// Each run in a column.
std::string summary(const std::vector<Run>& runs, const std::vector<std::string>& labels);

}  // namespace lockstep::launcher::report
