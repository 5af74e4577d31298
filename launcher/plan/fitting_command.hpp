// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/plan/run_plan.hpp"

namespace lockstep::launcher::plan {

// Returns the command of the planned training run, as bash reads it: the options that were given to
// `lockstep plan`, as the lines of a --config file, without what only a plan has, and with what
// --fit auto has chosen.
std::string fitting_command(const std::string& lines, const RunPlan& plan);

}  // namespace lockstep::launcher::plan
