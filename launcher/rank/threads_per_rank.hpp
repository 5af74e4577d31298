// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "launcher/rank/core_limits.hpp"
#include "runtime/comm/communicator.hpp"

namespace lockstep::launcher {

// Returns the number of cores that this process may use at once: the least of what the scheduler,
// the quotas of its control groups and Slurm allow.
int usable_cores();
// Returns the same as the share of a process that is alone.
ThreadShare lone_share();

// Returns at least 1 and at most as many threads as OpenMP gives a process (OMP_THREAD_LIMIT).
int within_thread_limit(int threads);

// Throws kind config if --threads asks for more.
void require_threads(std::int64_t threads);

// Returns this rank's number of threads: its share of the cores that it has in common with other
// ranks of its host. Ranks that a launcher bound to separate cores share with nobody, unless all
// are in a control group with a quota. Collective.
ThreadShare share_of_cores(const std::vector<CoreLimit>& own, comm::Communicator& communicator);
int share_of_cores(comm::Communicator& communicator);

}  // namespace lockstep::launcher
