// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/evaluate/row_scores.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// A JSON document: "opt", the options that were given, then each of the named metrics as an object.
// A number that is not finite is null.
std::string evaluation_report(const RunConfig& config,
                              const std::vector<std::pair<std::string, NamedValues>>& metrics);

// Returns the file that --report-filename means, or nothing where none is asked for.
std::string report_path(const RunConfig& config);

}  // namespace lockstep::launcher
