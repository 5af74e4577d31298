// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/plan/run_plan.hpp"

namespace lockstep::launcher::plan {

// Returns the values of report_text() as one JSON document, with unrounded bytes.
std::string report_json(const RunPlan& plan);

}  // namespace lockstep::launcher::plan
