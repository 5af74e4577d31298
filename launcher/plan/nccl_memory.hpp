// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::launcher::plan {

// Estimates the GPU memory in bytes that NCCL takes in a job of `ranks`, of which `ranks_of_host`
// are on one host. The estimate is for hosts with NVSwitch, on which NCCL takes the most. NCCL
// connects only the paths that it uses, when it first uses them, so no part is certain before a
// run.
std::int64_t nccl_bytes(int ranks, int ranks_of_host) noexcept;

}  // namespace lockstep::launcher::plan
