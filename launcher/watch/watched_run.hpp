// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// Runs what the ranks do together, watched over by all of them, and returns the exit code: 1 where
// this rank failed, 3 where another did. When one fails, or does not move on for --timeout, this
// process ends as soon as the failure is reported, whatever `work` is at. `work` tells where it is.
// A wrong request (kind config) is thrown on, and not reported. The report goes to rank 0's output
// and, where `folder` is not empty, there as failure.json, instead of an earlier run's.
int run_watched(const RunConfig& config, const std::string& folder, Job& job, Log& log,
                const std::function<void(comm::RankProgress*)>& work);

}  // namespace lockstep::launcher
