// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace lockstep::launcher {

// Memory that processes share: a host's, or what a control group may take. Processes with the same
// `id` share it.
struct MemoryLimit {
    std::uint64_t id = 0;
    std::int64_t bytes = 0;  // with swap; more cannot be had
    std::int64_t free = 0;   // of them now, without swap
    std::string owner;       // "this host has", "the control group /sys/fs/cgroup/a allows"
    std::string to_raise;    // what gives more
};

// Returns the limits of this process, first its host's. `root` is put before /proc and /sys.
std::vector<MemoryLimit> memory_limits(const std::string& root = "");

// What a rank takes at least for certain, and what its plan says.
struct MemoryNeed {
    std::int64_t certain = 0, planned = 0;
};

// What ranks that share a limit take together.
struct SharedNeed {
    MemoryNeed need;
    int ranks = 1;
    int first_rank = 0;  // the lowest of them
};

// Returns this rank's limits' needs in the order of `limits`. Collective.
std::vector<SharedNeed> shared_needs(const MemoryNeed& own, const std::vector<MemoryLimit>& limits,
                                     comm::Communicator& communicator);

}  // namespace lockstep::launcher
