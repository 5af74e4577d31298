// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/evaluate/row_scores.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Returns a JSON document: "opt" holds the given options, then each of the named metrics follows as
// an object. A number that is not finite is null.
std::string evaluation_report(const RunConfig& config,
                              const std::vector<std::pair<std::string, NamedValues>>& metrics);

// Returns the file that --report-filename names, or nothing when no report is requested.
std::string report_path(const RunConfig& config);

}  // namespace lockstep::launcher
