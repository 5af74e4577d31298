// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/device/buffer.hpp"
#include "runtime/device/dry_context.hpp"
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
// 0 or applies to all parameters. Those of each owned part begin with a new word.
std::vector<std::uint32_t> decay_lines(const ParameterTable& table, double weight_decay,
                                       const std::vector<OwnedPart>& owned);
// Returns the number of words of these lines.
std::size_t decay_line_words(const ParameterTable& table, double weight_decay,
                             const std::vector<OwnedPart>& owned);
kernels::StepRules step_rules(const TrainOptions& options);
kernels::AdamOptions adam_options(const OptimizerOptions& options);
kernels::MuonOptions muon_options(const OptimizerOptions& options);
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

// Returns `size` times the same value in the context's memory. A dry device has no values.
template <class T, class Ctx>
device::Buffer<T, typename Ctx::Space> kept(Ctx& context, std::size_t size, T value) {
    if constexpr (std::is_same_v<typename Ctx::Space, device::DrySpace>)
        return device::Buffer<T, device::DrySpace>(size);
    else
        return kept(context, std::vector<T>(size, value));
}

// Returns the lines of weight decay in the context's memory.
template <class Ctx>
device::Buffer<std::uint32_t, typename Ctx::Space> kept_decay_lines(
    Ctx& context, const ParameterTable& table, double weight_decay,
    const std::vector<OwnedPart>& owned) {
    if constexpr (std::is_same_v<typename Ctx::Space, device::DrySpace>)
        return device::Buffer<std::uint32_t, device::DrySpace>(
            decay_line_words(table, weight_decay, owned));
    else
        return kept(context, decay_lines(table, weight_decay, owned));
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

// Holds what a kernel needs of one owned part besides the optimizer's state.
template <class T, class Space>
struct PartOperands {
    View<const float, Space> gradient;
    View<float, Space> master;
    View<T, Space> compute;
    kernels::DecayLines<Space> decays;
    std::size_t packed = 0;

    // Returns the part's share of a packed state, which may be empty.
    View<float, Space> of(View<float, Space> state) const {
        return state.empty() ? state : state.subview(packed, gradient.size());
    }
    kernels::CodedMoment<Space> of(const kernels::CodedMoment<Space>& moment) const {
        const std::size_t count = gradient.size();
        return {
            moment.codes.subview(packed, count),
            moment.scales.subview(packed / kernels::moment_cell, kernels::moment_scales(count))};
    }
};

// Lists the owned parts for an optimizer that treats each element by itself; none at first.
template <class Ctx, class T>
class OwnedOperands {
public:
    using Space = typename Ctx::Space;

    OwnedOperands() = default;
    OwnedOperands(const OptimizerTarget<Ctx>& target, double weight_decay)
        : decays_(
              kept_decay_lines(target.context, target.table, weight_decay, target.store.owned())) {
        const ParameterStore<Space>& store = target.store;
        const View<T, Space> compute = compute_copy<T>(store);
        std::size_t word = 0;
        for (const OwnedPart& part : store.owned()) {
            PartOperands<T, Space> operands;
            operands.gradient = store.gradient_sum(part);
            operands.master = store.master(part);
            if (!compute.empty()) operands.compute = compute.subview(part.first, part.count);
            operands.packed = part.packed;
            const std::size_t words = kernels::decay_words(part.count);
            if (decays_.size() > 0) operands.decays = decays_.view().subview(word, words);
            word += words;
            parts_.push_back(operands);
        }
    }

    const std::vector<PartOperands<T, Space>>& all() const noexcept { return parts_; }
    std::size_t decay_bytes() const noexcept { return decays_.size() * sizeof(std::uint32_t); }

private:
    device::Buffer<std::uint32_t, Space> decays_;
    std::vector<PartOperands<T, Space>> parts_;
};

// Holds an optimizer's state as buffers and, if the rank owns everything, as tensors.
template <class Space>
class OwnedState {
public:
    // `packed_size` is the number of elements that this rank owns.
    void add(const ParameterTable& table, std::size_t packed_size, FlatState<Space> state) {
        if (packed_size == table.flat_size()) append_tensors(tensors_, table, state);
        flat_.push_back(std::move(state));
    }
    const std::vector<FlatState<Space>>& flat() const noexcept { return flat_; }
    const std::vector<NamedTensor<Space>>& tensors() const noexcept { return tensors_; }

private:
    std::vector<FlatState<Space>> flat_;
    std::vector<NamedTensor<Space>> tensors_;
};

// Returns a range of the compute copy.
template <class T, class Space>
View<T, Space> compute_range(const ParameterStore<Space>& store, std::size_t first,
                             std::size_t count) {
    const View<T, Space> whole = compute_copy<T>(store);
    return whole.empty() ? whole : whole.subview(first, count);
}

}  // namespace lockstep::train
