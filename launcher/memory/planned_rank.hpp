// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "launcher/options/run_config.hpp"
#include "launcher/plan/run_plan.hpp"
#include "launcher/rank/job.hpp"
#include "model/config.hpp"
#include "model/recompute.hpp"

namespace lockstep::launcher {

// Returns the options by which this rank of a run is planned, with the memory that it may take.
RunConfig planned_rank(const RunConfig& config, const model::ModelConfig& model, const Job& job);

// Returns nothing where no plan can be made, because training does not need one.
std::optional<plan::RunPlan> plan_if_possible(RunConfig asked,
                                              const model::RecomputePlan& recompute,
                                              plan::Scope scope);
// Returns a quick plan of the first epoch, or one without an epoch when the index cannot be read.
std::optional<plan::RunPlan> plan_first_epoch(const RunConfig& asked,
                                              const model::RecomputePlan& recompute);

}  // namespace lockstep::launcher
