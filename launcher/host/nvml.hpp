// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/host/host_facts.hpp"

namespace lockstep::launcher {

// What NVIDIA's management library says of this host's GPUs and of the links between them.
GpuHost gpu_host(const std::string& library = "libnvidia-ml.so.1");

// The GPUs that CUDA_VISIBLE_DEVICES leaves to a process, in its order: indices or (beginnings of)
// UUIDs, also of the parts that MIG made, up to the first that does not exist, as CUDA itself reads
// it.
std::vector<int> visible_gpus(const GpuHost& host, const std::string& cuda_visible_devices);

constexpr const char* all_devices = "all";  // where the variable is not set

}  // namespace lockstep::launcher
