// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/evaluate/memory_record.hpp"
#include "launcher/evaluate/row_scores.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Returns a JSON document: "opt" holds the given options, then each of the named metrics follows as
// an object. A number that is not finite is null. "finished_step" is the last step of a training
// run that has come to its end, and "memory" what it took; both are left out if there is none.
std::string evaluation_report(const RunConfig& config,
                              const std::vector<std::pair<std::string, NamedValues>>& metrics,
                              std::optional<std::int64_t> finished_step = std::nullopt,
                              const MemoryRecord& memory = {});

// Returns the file that --report-filename names, or nothing when no report is requested.
std::string report_path(const RunConfig& config);

}  // namespace lockstep::launcher
