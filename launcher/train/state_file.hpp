// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"
#include "model/config.hpp"
#include "runtime/core/log.hpp"
#include "runtime/train/options.hpp"

namespace lockstep::launcher {

// Returns which part of the weights and of the state a rank has, with the file of --offload-dir, in
// which room for this part is taken. Ends all ranks with a config error if one of them cannot have
// its file. Collective.
train::ReplicaShare share_with_file(const RunConfig& config, const model::ModelConfig& model,
                                    Job& job, Log& log);

}  // namespace lockstep::launcher
