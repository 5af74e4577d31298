// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/threads_per_rank.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::launcher {

namespace {

cpu_set_t affinity() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
}

}  // namespace

int usable_cores() {
    const cpu_set_t set = affinity();
    return std::max(1, CPU_COUNT(&set));
}

int within_thread_limit(int threads) { return std::clamp(threads, 1, omp_get_thread_limit()); }

void require_threads(std::int64_t threads) {
    const int limit = omp_get_thread_limit();
    if (threads <= limit) return;
    throw Error(ErrorKind::config, "--threads " + std::to_string(threads) +
                                       ": OMP_THREAD_LIMIT allows " + std::to_string(limit) +
                                       "; unset it, or give --threads " + std::to_string(limit));
}

int share_of_cores(comm::Communicator& communicator) {
    const cpu_set_t set = affinity();
    // Ranks with the same host and the same set of cores share them.
    std::vector<std::uint64_t> mine{hash64(&set, sizeof set, hash64(comm::host_name()))};
    std::vector<std::uint64_t> all(communicator.size());
    communicator.all_gather(view_of(mine), view_of(all), "cores");
    communicator.finish();
    const int sharing = static_cast<int>(std::count(all.begin(), all.end(), mine.front()));
    const int before =
        static_cast<int>(std::count(all.begin(), all.begin() + communicator.rank(), mine.front()));
    const int cores = std::max(1, CPU_COUNT(&set));
    return within_thread_limit(cores / sharing + (before < cores % sharing ? 1 : 0));
}

}  // namespace lockstep::launcher
