// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/chart.hpp"
#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// How far the runs' curves go, in what they were read over.
Reach reach_of(const std::vector<Run>& runs);

// Charts of what was learned and how: a run's training and validation, or several runs by `labels`.
std::string curves(const std::vector<Run>& runs, const std::vector<std::string>& labels);

}  // namespace lockstep::launcher::report
