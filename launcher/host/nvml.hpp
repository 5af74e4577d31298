// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/host/host_facts.hpp"

namespace lockstep::launcher {

// Asks NVIDIA's management library for this host's GPUs and the links between them. `root` is put
// before /sys, which tells whether there is a GPU for a driver that is missing.
GpuHost gpu_host(const std::string& library = "libnvidia-ml.so.1", const std::string& root = "");

// Returns the GPUs that CUDA_VISIBLE_DEVICES leaves to a process, in the variable's order. An entry
// is an index or the beginning of a UUID, also the UUID of a MIG part. The list ends at the first
// entry that does not exist, as in CUDA itself.
std::vector<int> visible_gpus(const GpuHost& host, const std::string& cuda_visible_devices);

constexpr const char* all_devices = "all";  // stands for a variable that is not set

}  // namespace lockstep::launcher
