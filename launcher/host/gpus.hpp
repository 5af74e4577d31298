// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/devices/model.hpp"
#include "runtime/device/cuda/cuda_devices.hpp"
#include "runtime/device/cuda_versions.hpp"

namespace lockstep::launcher {

// cuda_gpus.cpp defines this function when CUDA is built in, otherwise no_gpus.cpp does.

device::CudaBuild cuda_build();

// Lists the GPUs that this process sees.
struct Gpus {
    std::vector<device::GpuIdentity> visible;
    std::string absent;            // why there is no GPU, and what to do
    device::CudaBuild build = {};  // the CUDA build that would compute on them
    int driver = 0;                // the newest CUDA version that the driver supports; 0: no driver
    std::string products = "";     // why cuBLASLt is missing, and what to do; empty: it is there
    std::string product_library = "";  // "cuBLASLt 12.8.4"; empty: there is none
};
Gpus find_gpus();

// Returns why NCCL cannot be opened, or an empty string when it can.
std::string why_no_nccl();

// The next two functions may be called only when find_gpus() found GPUs. free_gpu_bytes() returns
// the bytes of a GPU's memory that no process has allocated.
std::int64_t free_gpu_bytes(int number);
std::unique_ptr<model::Model> make_gpu_model(const model::ModelConfig& config,
                                             train::Precision precision,
                                             const model::GpuSettings& settings);

}  // namespace lockstep::launcher
