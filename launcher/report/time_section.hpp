// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// Shows for each run where its time went: over the steps, and in total.
std::string time_section(const std::vector<Run>& runs, const std::vector<std::string>& labels);

}  // namespace lockstep::launcher::report
