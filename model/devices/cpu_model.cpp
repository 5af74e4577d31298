// SPDX-License-Identifier: Apache-2.0
#include "model/devices/model_inl.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/step/device_engine_inl.hpp"

// Composes the CPU's model, weights and engine from the templates of the blocks and of
// runtime/train, which it instantiates for the CPU.
namespace lockstep::model {

using device::CpuContext;

template std::unique_ptr<train::ForwardBackward> make_model(const ModelConfig&,
                                                            const train::ParameterStore<HostSpace>&,
                                                            CpuContext&, const RecomputePlan&,
                                                            const train::ParameterStore<HostSpace>*,
                                                            const TensorRanks<HostSpace>*);
template std::unique_ptr<IncrementalDecoder> make_decoder(const ModelConfig&,
                                                          const train::ParameterStore<HostSpace>&,
                                                          CpuContext&,
                                                          const train::ParameterStore<HostSpace>*);

std::unique_ptr<Model> make_cpu_model(const ModelConfig& config, train::Precision precision,
                                      int threads, const RecomputePlan& plan,
                                      const train::ReplicaShare& share) {
    return std::make_unique<ModelOn<CpuContext>>(
        config, precision, train::Master::kept, std::make_unique<CpuContext>(threads), plan, share);
}

}  // namespace lockstep::model
