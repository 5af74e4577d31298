// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/charts/chart.hpp"
#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// Returns the end of the x axis for all runs.
Reach reach_of(const std::vector<Run>& runs);

// Returns the charts of what was learned and how: training and validation of one run, or several
// runs with `labels`.
std::string curves(const std::vector<Run>& runs, const std::vector<std::string>& labels);

}  // namespace lockstep::launcher::report
