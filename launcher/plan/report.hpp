// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/plan/run_plan.hpp"

namespace lockstep::launcher::plan {

std::string report_text(const RunPlan& plan);

}  // namespace lockstep::launcher::plan
