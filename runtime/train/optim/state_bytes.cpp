// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/optim/state_bytes.hpp"

#include "runtime/device/dry_context.hpp"
#include "runtime/kernels/dry/step_kernels.hpp"
#include "runtime/train/optim/optimizer_inl.hpp"

namespace lockstep::train {

std::size_t state_bytes(const OptimizerOptions& options, ParameterTable table) {
    using Ctx = device::DryContext<device::CpuTraits>;
    table.share_among(1);
    OptimizerOptions on_device = options;
    on_device.offload = Offload::none;
    on_device.offload_dir.clear();
    Ctx context;
    const ParameterStore<device::DrySpace> store(table, Precision::fp32);
    const auto optimizer = make_optimizer<Ctx>(on_device, table, store, context);
    std::size_t bytes = 0;
    for (const auto& state : optimizer->flat_state()) bytes += bytes_of(state);
    if (bytes > 0) return bytes;
    for (const auto& tensor : optimizer->state()) bytes += tensor.values.size() * sizeof(float);
    return bytes;
}

}  // namespace lockstep::train
