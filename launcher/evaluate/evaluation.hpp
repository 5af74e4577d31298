// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"

namespace lockstep::launcher {

// Throws a config error for every wrong request that can be detected without the other ranks.
void check_evaluation(const RunConfig& config);

// Evaluates as one rank; rank 0 prints the report. Returns the exit code.
int run_evaluation(const RunConfig& config, LaunchMode mode);

}  // namespace lockstep::launcher
