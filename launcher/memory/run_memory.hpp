// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/evaluate/memory_record.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"
#include "model/config.hpp"
#include "model/recompute.hpp"

namespace lockstep::launcher {

// Plans rank 0 with its first epoch's batches, and asks all ranks for their peaks. Collective; only
// rank 0 gets the plan.
MemoryRecord memory_of_run(const RunConfig& config, const model::ModelConfig& model,
                           const model::RecomputePlan& recompute, const Job& job);

}  // namespace lockstep::launcher
