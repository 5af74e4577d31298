// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// Draws the parts' shares over the steps of a run that has training lines.
std::string time_stack(const History& history);

}  // namespace lockstep::launcher::report
