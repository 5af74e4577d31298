// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_readback.hpp"
#include "runtime/device/cuda/cuda_replay.hpp"
#include "runtime/device/cuda/cuda_upload.hpp"
#include "runtime/train/step/device_engine_inl.hpp"

// Instantiates the templates of the *_inl.hpp files for GPUs.
namespace lockstep::train {

using device::CudaContext;

template class GradientReducer<CudaContext>;
template class DeviceEngine<CudaContext>;
template std::unique_ptr<Optimizer<CudaSpace>> make_optimizer(const OptimizerOptions&,
                                                              const ParameterTable&,
                                                              const ParameterStore<CudaSpace>&,
                                                              CudaContext&);
template void write_compute_copy(CudaContext&, const ParameterStore<CudaSpace>&);
template void broadcast_weights(comm::Collectives<CudaSpace>&, const ParameterStore<CudaSpace>&);

}  // namespace lockstep::train
