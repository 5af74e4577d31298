// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "launcher/memory/memory_limits.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/rank/data_sets.hpp"
#include "launcher/rank/job.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/train/precision.hpp"

namespace lockstep::launcher {

// A rank that evaluates on the CPU.
struct EvaluatingRank {
    train::Precision precision = train::Precision::fp32;
    int rank = 0, ranks = 1;
};

// Returns what the rank takes to evaluate config.split of the data sets with the model in
// config.model_file: weights, and the activations of the largest of its micro-batches. Replies take
// more, which is not counted. Throws if the model or an index cannot be read.
MemoryNeed evaluation_need(const RunConfig& config, const DataSets& sets,
                           const EvaluatingRank& self);

// Throws a config error on every rank if ranks that share memory take more of it for an evaluation
// than there is, and warns where they take more than is free now, as require_cpu_memory() does for
// training. On a GPU nothing is looked at. Collective.
void require_evaluation_memory(const RunConfig& config, const DataSets& sets, const Job& job,
                               const std::vector<MemoryLimit>& limits);

// Does so with the limits of this process.
void check_evaluation_memory(const RunConfig& config, const DataSets& sets, const Job& job);

}  // namespace lockstep::launcher
