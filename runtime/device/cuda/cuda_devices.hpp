// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::device {

// A GPU as the rest of the machine knows it; its number is its place in a process's own list.
struct GpuIdentity {
    std::string uuid;            // "GPU-8a56…"; "MIG-8a56…" of a part of one: one in the world
    std::string pci;             // "0000:17:00.0"
    std::string name;            // "NVIDIA H200"
    std::size_t bytes = 0;       // of its memory
    int compute_capability = 0;  // 90 is 9.0
};

// The newest CUDA that the driver serves, 12020 for 12.2; 0: there is no driver.
int driver_cuda_version() noexcept;
// The version of the runtime that this program is built with.
int own_cuda_version() noexcept;

// Those that this process sees, in CUDA's order; empty also where there is no driver.
std::vector<GpuIdentity> visible_gpu_identities();

// What of a GPU's memory nobody has taken, its context left out. Wakes the GPU.
std::size_t free_gpu_bytes(int device);

// Where there are none: what the driver says about it, and what to do.
std::string why_no_gpu();

}  // namespace lockstep::device
