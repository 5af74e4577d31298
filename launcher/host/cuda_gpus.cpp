// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/gpus.hpp"
#include "runtime/comm/nccl/make_collectives.hpp"
#include "runtime/core/error.hpp"
#include "runtime/device/cuda_library.hpp"

namespace lockstep::launcher {

namespace {

void look_for_products(Gpus& gpus) {
    try {
        const device::CudaLibrary library(device::cublas_lt_files(gpus.driver));
        auto* const version = library.function<std::size_t()>("cublasLtGetVersion");
        gpus.product_library = "cuBLASLt " + device::library_version_text(version());
    } catch (const Error& error) {
        gpus.products = error.what();
    }
}

}  // namespace

device::CudaBuild cuda_build() { return {device::own_cuda_version(), LOCKSTEP_CUDA_TARGETS}; }

Gpus find_gpus() {
    Gpus gpus{device::visible_gpu_identities(), "", cuda_build(), device::driver_cuda_version()};
    if (gpus.visible.empty()) {
        gpus.absent = device::why_no_gpu();
    } else {
        look_for_products(gpus);
    }
    return gpus;
}

std::string why_no_nccl() { return comm::why_no_nccl(); }

std::int64_t free_gpu_bytes(int number) {
    return static_cast<std::int64_t>(device::free_gpu_bytes(number));
}

std::unique_ptr<model::Model> make_gpu_model(const model::ModelConfig& config,
                                             train::Precision precision,
                                             const model::GpuSettings& settings) {
    return model::make_cuda_model(config, precision, settings);
}

}  // namespace lockstep::launcher
