// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "data/storage/check_shards.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/rank/data_sets.hpp"
#include "launcher/rank/job.hpp"

namespace lockstep::launcher {

// Throws a config error for every wrong request that can be detected without the other ranks.
// `missing` says whether another host may have a shard that is not here.
void check_evaluation(const RunConfig& config, data::MissingShards missing);

// Is called by every rank before weights are read; may throw a config error on all of them.
using EvaluationCheck =
    std::function<void(const RunConfig& config, const DataSets& sets, const Job& job)>;

// Evaluates as one rank; rank 0 prints the report. Returns the exit code.
int run_evaluation(const RunConfig& config, LaunchMode mode, const EvaluationCheck& check);

}  // namespace lockstep::launcher
