// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::launcher {

// The host memory in bytes that a rank of --offload optimizer takes.
struct HostNeed {
    std::int64_t pinned = 0;
    std::int64_t copied = 0;  // of weights and optimizer, which checkpoints are written from
};

// Returns the bytes that this process may still take of the host's memory.
std::int64_t free_host_bytes();

// Throws a config error on every rank if the ranks of some host together need more than is free
// there. Those ranks tell it (refuse_together). Collective.
void require_host_memory(const HostNeed& need, std::int64_t free_bytes,
                         comm::Communicator& communicator, const comm::RankInfo& self);

}  // namespace lockstep::launcher
