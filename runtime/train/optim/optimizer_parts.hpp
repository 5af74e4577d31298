// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/device/buffer.hpp"
#include "runtime/kernels/optimizers.hpp"
#include "runtime/kernels/step.hpp"
#include "runtime/train/optim/optimizer.hpp"

namespace lockstep::train {

// Holds the objects that an optimizer works on; they are all borrowed.
template <class Ctx>
struct OptimizerTarget {
    const ParameterTable& table;
    const ParameterStore<typename Ctx::Space>& store;
    Ctx& context;
};

// Returns the lines that weight decay applies to, as kernels::DecayLines; empty if weight_decay is
// 0 or applies to all parameters.
std::vector<std::uint32_t> decay_lines(const ParameterTable& table, double weight_decay);

kernels::StepRules step_rules(const TrainOptions& options);
kernels::AdamOptions adam_options(const OptimizerOptions& options);
kernels::AdafactorOptions adafactor_options(const OptimizerOptions& options);

// Copies host values to a buffer in the context's memory, which the caller keeps.
template <class T, class Ctx>
device::Buffer<T, typename Ctx::Space> kept(Ctx& context, const std::vector<T>& values) {
    device::Buffer<T, typename Ctx::Space> buffer(values.size());
    if (values.empty()) return buffer;
    device::copy(context, HostView<const T>(values.data(), values.size()), buffer.view());
    context.synchronize();
    return buffer;
}

// Appends one tensor "PARAMETER.suffix" for each parameter, a view of its range in `flat`.
template <class Space>
void append_tensors(std::vector<NamedTensor<Space>>& tensors, const ParameterTable& table,
                    View<float, Space> flat, const std::string& suffix) {
    for (const Parameter& parameter : table.all())
        tensors.push_back({parameter.name + suffix, parameter.shape,
                           flat.subview(parameter.offset, parameter.count)});
}

// Returns a range of the master; empty if there is no master.
template <class Space>
View<float, Space> master_range(const ParameterStore<Space>& store, std::size_t first,
                                std::size_t count) {
    if (!store.has_master()) return {};
    return store.master().subview(first, count);
}

// Returns the compute copy of the weights; empty if the master itself is used for computing.
template <class T, class Space>
View<T, Space> compute_copy(const ParameterStore<Space>& store) {
    if constexpr (std::is_same_v<T, float>)
        return {};
    else
        return store.template compute<T>();
}
// Returns a range of the compute copy.
template <class T, class Space>
View<T, Space> compute_range(const ParameterStore<Space>& store, std::size_t first,
                             std::size_t count) {
    const View<T, Space> whole = compute_copy<T>(store);
    return whole.empty() ? whole : whole.subview(first, count);
}

}  // namespace lockstep::train
