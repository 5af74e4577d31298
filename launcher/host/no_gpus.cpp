// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/gpus.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

device::CudaBuild cuda_build() { return {}; }

Gpus find_gpus() {
    return {{}, "this program was built without CUDA: build it where nvcc is found"};
}

std::string why_no_nccl() { return "this program was built without CUDA"; }

std::int64_t free_gpu_bytes(int) {
    throw Error(ErrorKind::contract, "there is no GPU to have memory");
}

std::unique_ptr<model::Model> make_gpu_model(const model::ModelConfig&, train::Precision,
                                             const model::GpuSettings&) {
    throw Error(ErrorKind::contract, "there is no GPU to make a model on");
}

}  // namespace lockstep::launcher
