// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/run.hpp"

namespace lockstep::launcher::report {

// Returns the last validations, and the best one when it was earlier.
std::string validation_table(const History& history);
// Returns an empty text when the run has not ended.
std::string final_table(const History& history);
std::string checkpoint_table(const Run& run);
std::string options_table(const Run& run);
std::string config_table(const Run& run);

// Returns the options and versions in which the runs differ.
std::string differences(const std::vector<Run>& runs, const std::vector<std::string>& labels);

}  // namespace lockstep::launcher::report
