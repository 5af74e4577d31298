// SPDX-License-Identifier: Apache-2.0
#include "model/devices/gpu_heads.hpp"
#include "model/devices/model_inl.hpp"
#include "runtime/comm/nccl/make_collectives.hpp"
#include "runtime/device/cuda/cuda_host_side.hpp"
#include "runtime/device/cuda/cuda_readback.hpp"
#include "runtime/device/cuda/cuda_replay.hpp"
#include "runtime/device/cuda/cuda_upload.hpp"
#include "runtime/kernels/cuda/attention/attention_library.hpp"
#include "runtime/kernels/cuda/matmul/product.hpp"
#include "runtime/train/step/device_engine_inl.hpp"

// Composes a GPU's model, weights and engine from the templates of the blocks and of runtime/train,
// which it instantiates for GPUs.
namespace lockstep::model {

using device::CudaContext;

template std::unique_ptr<train::ForwardBackward> make_model(const ModelConfig&,
                                                            const train::ParameterStore<CudaSpace>&,
                                                            CudaContext&, const RecomputePlan&,
                                                            const train::ParameterStore<CudaSpace>*,
                                                            const TensorRanks<CudaSpace>*);
template std::unique_ptr<IncrementalDecoder> make_decoder(const ModelConfig&,
                                                          const train::ParameterStore<CudaSpace>&,
                                                          CudaContext&,
                                                          const train::ParameterStore<CudaSpace>*);

std::unique_ptr<Model> make_cuda_model(const ModelConfig& config, train::Precision precision,
                                       const GpuSettings& settings) {
    require_gpu_heads(config);
    auto context = std::make_unique<CudaContext>(settings.device);
    auto& products = context->cached<kernels::cuda::ProductSettings>();
    products.tf32 = settings.tf32;
    products.autotune = settings.autotune;
    context->cached<kernels::cuda::AttentionSettings>().autotune = settings.autotune;
    context->cached<device::GraphSettings>().max_graphs = settings.max_graphs;
    context->cached<device::HostThreads>().count = settings.host_threads;
    const auto connect = [settings](CudaContext& gpu, comm::Communicator& ranks,
                                    comm::RankProgress* progress) {
        return comm::make_collectives(gpu, ranks, settings.backend, settings.timeout_ms, progress);
    };
    return std::make_unique<ModelOn<CudaContext>>(config, precision, settings.master,
                                                  std::move(context), settings.recompute,
                                                  settings.share, connect);
}

}  // namespace lockstep::model
