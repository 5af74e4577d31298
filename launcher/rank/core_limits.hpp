// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/environment/environment.hpp"

namespace lockstep::launcher {

// One of the things that say how many cores a process may use at once. Processes with the same `id`
// share the cores.
struct CoreLimit {
    enum class Kind { binding, control_group, slurm };

    Kind kind = Kind::binding;
    double cores = 1;
    std::uint64_t id = 0;
};

// Returns the limit of processes that the scheduler lets run on these cores of the host only.
CoreLimit binding_limit(const std::string& host, const std::vector<int>& cores);

// Returns all limits of this process, first its binding. Slurm's count only where it bound nothing:
// a cluster may count a core with two threads as one, and binds to both. `root` is put before /proc
// and /sys.
std::vector<CoreLimit> core_limits(const comm::Environment& environment,
                                   const std::string& root = "");

// The threads of a rank, and what they are counted from.
struct ThreadShare {
    int threads = 1;
    int ranks = 1;         // that share what decides
    CoreLimit decided_by;  // the limit that leaves the least
    int bound = 1;         // cores that this rank is bound to
};

// Returns the share of each of these ranks: the least that one of its limits leaves, at least 1. A
// limit's whole cores are divided among the ranks that have it. A part of a core is left alone: in
// each period of a quota of 1.5 cores two threads wait for each other until the next one begins.
// On a busy host with that quota, 20 steps took two threads 9.0 s of processor time and one 3.7 s.
std::vector<ThreadShare> thread_shares(const std::vector<std::vector<CoreLimit>>& of_ranks);

// Tells whether a rank that has so many threads has its share, or the one that is rounded down.
bool is_counted_from(const ThreadShare& share, int threads) noexcept;
// Says what decided, for example "the control group allows 2 of 16 cores", or nothing if that is
// the binding, which every program shows.
std::string counted_from(const ThreadShare& share);

}  // namespace lockstep::launcher
