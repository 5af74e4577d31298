// SPDX-License-Identifier: Apache-2.0
#include "launcher/gpus.hpp"
#include "runtime/comm/make_collectives.hpp"

namespace lockstep::launcher {

Gpus find_gpus() {
    Gpus gpus{device::visible_gpu_identities(), ""};
    if (gpus.visible.empty()) gpus.absent = device::why_no_gpu();
    return gpus;
}

std::string why_no_nccl() { return comm::why_no_nccl(); }

std::int64_t free_gpu_bytes(int number) {
    return static_cast<std::int64_t>(device::free_gpu_bytes(number));
}

std::unique_ptr<model::DeviceModel> make_gpu_model(const model::ModelConfig& config,
                                                   train::Precision precision,
                                                   const model::GpuSettings& settings) {
    return model::make_cuda_model(config, precision, settings);
}

}  // namespace lockstep::launcher
