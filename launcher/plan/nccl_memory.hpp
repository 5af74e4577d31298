// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::launcher::plan {

// About what NCCL takes of a GPU's memory among so many ranks, of which `ranks_of_host` are on one
// host: what it takes on machines with NVSwitch, the most. It connects by and by, and only those
// ways that it comes to use, so that none of it is certain before a run.
std::int64_t nccl_bytes(int ranks, int ranks_of_host) noexcept;

}  // namespace lockstep::launcher::plan
