// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// Charts of what was learned and how: a run's training and validation, or several runs by `labels`.
std::string curves(const std::vector<Run>& runs, const std::vector<std::string>& labels);

}  // namespace lockstep::launcher::report
