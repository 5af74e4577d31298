// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launcher/memory/memory_limits.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"
#include "model/config.hpp"
#include "model/recompute.hpp"

namespace lockstep::launcher {

// Returns what the user can do so that a rank takes at most `bytes`.
using MemoryRemedy = std::function<std::string(std::int64_t bytes)>;
using MemoryWarning = std::function<void(const std::string&)>;

// What takes the memory, and where more about it is told.
struct MemoryWords {
    std::string parts = "weights, gradients, optimizer and activations";
    std::string more = " (lockstep plan says what takes it)";
};

// Throws a config error on every rank if ranks that share memory take more of it for certain than
// there is: the kernel would kill one without a word. The lowest of those ranks tells it. Warns
// where they take more than is free now, which other programs may give back. Collective.
void require_memory(const MemoryNeed& own, const std::vector<MemoryLimit>& limits,
                    comm::Communicator& communicator, const comm::RankInfo& self,
                    const MemoryRemedy& remedy, const MemoryWarning& warn,
                    const MemoryWords& words = {});

// The same for a run on the CPU, which a quick plan tells the need of. Where none can be made,
// nothing is refused.
void require_cpu_memory(const RunConfig& config, const model::ModelConfig& model,
                        const model::RecomputePlan& recompute, const Job& job);

}  // namespace lockstep::launcher
