// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::device {

// Identifies a GPU for the whole host. A GPU's number is only its index in the list of one
// process.
struct GpuIdentity {
    std::string uuid;       // "GPU-8a56…", or "MIG-8a56…" for a part of a GPU; globally unique
    std::string pci;        // "0000:17:00.0"
    std::string name;       // "NVIDIA H200"
    std::size_t bytes = 0;  // size of its memory
    int compute_capability = 0;  // 90 is 9.0
};

// Returns the newest CUDA version that the driver supports, 12020 for 12.2; 0: there is no driver.
int driver_cuda_version() noexcept;
// Returns the version of the CUDA runtime that this program is built with.
int own_cuda_version() noexcept;

// Returns the GPUs that this process sees, in CUDA's order. Empty if there are none or there is no
// driver.
std::vector<GpuIdentity> visible_gpu_identities();

// Returns the free bytes of a GPU's memory after the creation of a context, which wakes the GPU.
std::size_t free_gpu_bytes(int device);

// Explains why no GPU is visible: what the driver reports, and what to do.
std::string why_no_gpu();

}  // namespace lockstep::device
