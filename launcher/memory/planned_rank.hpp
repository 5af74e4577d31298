// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"
#include "model/config.hpp"

namespace lockstep::launcher {

// Returns the options by which this rank of a run is planned, with the memory that it may take.
RunConfig planned_rank(const RunConfig& config, const model::ModelConfig& model, const Job& job);

}  // namespace lockstep::launcher
