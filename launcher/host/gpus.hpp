// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/devices/device_model.hpp"
#include "runtime/device/cuda/cuda_devices.hpp"
#include "runtime/device/cuda_versions.hpp"

namespace lockstep::launcher {

// Defined by cuda_gpus.cpp where CUDA is built in, else by no_gpus.cpp.

device::CudaBuild cuda_build();

// Those that this process sees.
struct Gpus {
    std::vector<device::GpuIdentity> visible;
    std::string absent;            // why there is none, and what to do
    device::CudaBuild build = {};  // by which they would compute
    int driver = 0;                // the newest CUDA that it serves; 0: there is none
    std::string products = "";     // why there is no cuBLASLt for them, and what to do; else empty
    std::string product_library = "";  // "cuBLASLt 12.8.4"; empty: there is none
};
Gpus find_gpus();

// Empty where NCCL can be opened.
std::string why_no_nccl();

// Only where find_gpus() finds some. free_gpu_bytes: what of a GPU's memory nobody has taken.
std::int64_t free_gpu_bytes(int number);
std::unique_ptr<model::DeviceModel> make_gpu_model(const model::ModelConfig& config,
                                                   train::Precision precision,
                                                   const model::GpuSettings& settings);

}  // namespace lockstep::launcher
