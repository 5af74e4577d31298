// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "runtime/comm/watch/watchdog.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

// Returns lines for the user: which rank ended the run and why, and the positions of the others.
std::string failure_lines(const comm::WatchNews& news);

// Returns the same for programs; docs/failures.md lists the fields.
std::string failure_json(const comm::WatchNews& news, std::chrono::system_clock::time_point now);

// Returns what the ranks are doing while the run goes on, and the run's limits, for programs;
// docs/metrics.md lists the fields.
std::string ranks_json(const std::vector<comm::Sighting>& ranks, const train::RunLimits& limits,
                       std::chrono::system_clock::time_point now);

enum class Published { here, by_another_rank, not_writable };

// Writes `json` into the folder as failure.json, unless another rank has done so.
Published publish_failure(const std::string& folder, const std::string& json);

// Removes the report of an earlier run, and what ranks that were killed left of theirs.
void forget_failure(const std::string& folder);

}  // namespace lockstep::launcher
