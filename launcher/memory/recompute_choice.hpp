// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"
#include "model/config.hpp"
#include "model/recompute.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// Returns what backward calculates again on this rank: what --recompute says. If it says auto,
// returns the least with which the run's largest micro-batch fits into the memory of the rank's
// device, and tells the user; if the data set's index cannot be read, that is `layer`, with a
// warning. Ranks may differ, since the results are the same. Throws the planner's config errors.
model::RecomputePlan recompute_of(const RunConfig& config, const model::ModelConfig& model,
                                  const Job& job, Log& log);

}  // namespace lockstep::launcher
