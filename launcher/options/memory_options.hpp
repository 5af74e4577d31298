// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "launcher/options/run_config.hpp"
#include "model/recompute.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

// Reads a value of --recompute; the result is empty for auto. Throws a config error for any other
// word.
std::optional<model::RecomputePlan> parse_recompute(const std::string& word);

// Tells whether the optimizer can keep its moments in int8.
bool can_code_moments(const train::OptimizerOptions& options);

// Throws a config error if ranks cannot share what --zero says.
void check_zero(const RunConfig& config);
// Returns the stage that --zero or --ddp-backend asks for.
int zero_stage(const RunConfig& config);
// Throws a config error if --tensor contradicts other options.
void check_tensor(const RunConfig& config);
void check_pipeline(const RunConfig& config);
// Throws one if --tensor does not divide the model, or the ranks of the run.
void check_tensor_ranks(const RunConfig& config, const model::ModelConfig& model, int ranks);
void check_pipeline_ranks(const RunConfig& config, const model::ModelConfig& model, int ranks);

// Throws a config error if --zero-ranks does not divide the ranks of the run that read rows of
// their own.
void check_zero_ranks(const train::ZeroOptions& options, int ranks);

// Throws a config error if the host cannot update what --offload says.
void check_muon(const RunConfig& config);
void check_offload(const RunConfig& config);

// Throws a config error if the optimizer cannot keep its moments as --moments says.
void check_moments(const train::OptimizerOptions& options);

}  // namespace lockstep::launcher
