// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "launcher/plan/rank_memory.hpp"

namespace lockstep::launcher {

// Holds the memory of a run: what was calculated for rank 0's device, and what was seen.
struct MemoryRecord {
    std::vector<plan::Part> planned;   // empty: the run could not be planned
    std::vector<std::uint64_t> peaks;  // of each rank, in its host's memory
    // How much memory of each rank's GPU all processes use after training; empty on CPUs. A run
    // frees no GPU memory before its end, so for a process alone this is also the peak.
    std::vector<std::uint64_t> on_gpus = {};
};

}  // namespace lockstep::launcher
