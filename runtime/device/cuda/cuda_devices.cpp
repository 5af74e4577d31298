// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_devices.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdio>

#include "runtime/device/cuda/cuda_check.hpp"
#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/device/cuda_versions.hpp"

namespace lockstep::device {

namespace {

// Formats a UUID as nvidia-smi does. Only the name tells a part of a GPU from a whole one, as in
// "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
std::string text_of(const cudaUUID_t& uuid, const std::string& name) {
    std::string text = name.find(" MIG ") == std::string::npos ? "GPU" : "MIG";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        std::array<char, 4> digits{};
        const bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        std::snprintf(digits.data(), digits.size(), "%s%02x", dash ? "-" : "",
                      static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
        text += digits.data();
    }
    return text;
}

}  // namespace

int driver_cuda_version() noexcept {
    int version = 0;
    return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

int own_cuda_version() noexcept { return CUDART_VERSION; }

std::vector<GpuIdentity> visible_gpu_identities() {
    std::vector<GpuIdentity> gpus;
    for (int device = 0; device < visible_gpus(); ++device) {
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
        std::array<char, 32> pci{};
        check(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), device),
              "cudaDeviceGetPCIBusId");
        gpus.push_back({text_of(properties.uuid, properties.name), pci.data(), properties.name,
                        properties.totalGlobalMem, 10 * properties.major + properties.minor});
    }
    return gpus;
}

std::size_t free_gpu_bytes(int device) {
    const CudaContext current(device);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
}

std::string why_no_gpu() {
    int count = 0;
    const cudaError_t result = cudaGetDeviceCount(&count);
    cudaGetLastError();
    if (result == cudaErrorInsufficientDriver)
        return "there is no NVIDIA driver, or none for CUDA " +
               cuda_version_text(own_cuda_version()) + ": install one";
    if (result == cudaSuccess || result == cudaErrorNoDevice)
        return "no GPU is visible: choose a host with GPUs (srun --gpus-per-node N), or look at "
               "CUDA_VISIBLE_DEVICES";
    return std::string("the NVIDIA driver fails: ") + cudaGetErrorString(result) + " (" +
           cudaGetErrorName(result) + "): try nvidia-smi";
}

}  // namespace lockstep::device
