// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/device/cuda/cuda_devices.hpp"

namespace lockstep::launcher {

// Identifies the GPU that a rank uses.
struct GpuAssignment {
    int number = 0;  // index among the GPUs that the process sees
    device::GpuIdentity identity;
    std::size_t visible = 1;    // number of GPUs that the process sees
    std::string products = "";  // library of the matrix products, with its version
};

enum class SharedGpu { refused, allowed };

// Returns the index of the rank's GPU among those that it sees. A single visible GPU is the rank's
// own because the launcher chose it. Otherwise the index is the local rank, and there is none when
// too few GPUs are visible. Slurm may show each rank a few GPUs of its own, so there the index
// wraps around; judge_gpu_users() later detects two ranks on one GPU.
std::optional<std::size_t> gpu_index(std::size_t visible, int local_rank,
                                     comm::RankSource source) noexcept;

// Does the same for a run. SharedGpu::allowed lets ranks without a GPU of their own share one in
// turn. Throws a config error when there is no GPU to use.
std::size_t assign_gpu(const comm::RankInfo& rank_info, std::size_t visible, SharedGpu shared);

// Makes the same check for all ranks of one host that see the same GPUs, before they are started.
void require_gpu_for_each(const comm::RankInfo& last_rank, std::size_t visible, SharedGpu shared);

}  // namespace lockstep::launcher
