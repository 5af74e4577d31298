// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"
#include "model/config.hpp"
#include "model/recompute.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// Returns the bytes of activations that the first epoch's largest micro-batch takes, to be reserved
// before the first step. Returns 0 on the CPU, where memory costs nothing until it is used
// (require_cpu_memory() is called there), and when the data set's index cannot be read. Collective.
// Throws a config error on every rank when that epoch cannot fit into the free memory of some
// rank's GPU, or what is offloaded into that of its host.
std::int64_t activations_to_reserve(const RunConfig& config, const model::ModelConfig& model,
                                    const model::RecomputePlan& recompute, const Job& job,
                                    Log& log);

}  // namespace lockstep::launcher
