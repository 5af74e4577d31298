// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/step/device_engine_inl.hpp"

// Instantiates the templates of the *_inl.hpp files for the CPU.
namespace lockstep::train {

using device::CpuContext;

template class GradientReducer<CpuContext>;
template class DeviceEngine<CpuContext>;
template std::unique_ptr<Optimizer<HostSpace>> make_optimizer(const OptimizerOptions&,
                                                              const ParameterTable&,
                                                              const ParameterStore<HostSpace>&,
                                                              CpuContext&);
template void write_compute_copy(CpuContext&, const ParameterStore<HostSpace>&);
template void broadcast_weights(comm::Collectives<HostSpace>&, const ParameterStore<HostSpace>&);

}  // namespace lockstep::train
