// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/run_plan.hpp"

namespace lockstep::launcher::plan {

// Returns the command of the planned training run, as bash reads it: the words that were given to
// `lockstep plan`, without what only a plan has, and with what --fit auto has chosen.
std::string fitting_command(const std::vector<std::string>& words, const RunPlan& plan);

}  // namespace lockstep::launcher::plan
