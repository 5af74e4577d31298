// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "runtime/device/memory_of.hpp"
#include "runtime/train/optim/optimizer_parts.hpp"

namespace lockstep::train {

// What an optimizer that treats each element by itself works on. The references are borrowed.
template <class Ctx, class T>
struct ElementTarget {
    const ParameterTable& table;
    Ctx& context;
    std::size_t packed_size;      // elements that this rank owns
    OwnedOperands<Ctx, T> parts;  // what update() updates
};

// An optimizer whose update of an element depends on that element alone. Its state is packed.
template <class Ctx, class T>
class ElementOptimizer : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;

    explicit ElementOptimizer(ElementTarget<Ctx, T> target) : target_(std::move(target)) {}

    // Updates a range of what this rank owns, as update() does.
    virtual void update_part(const kernels::StepState* state,
                             const PartOperands<T, Space>& part) = 0;
    void update(const kernels::StepState* state) final {
        for (const PartOperands<T, Space>& part : target_.parts.all()) update_part(state, part);
    }
    OptimizerBytes bytes() const noexcept final {
        std::size_t bytes = target_.parts.decay_bytes();
        for (const FlatState<Space>& state : flat_state()) bytes += bytes_of(state);
        return {.device = bytes};
    }
    const std::vector<NamedTensor<Space>>& state() const noexcept final { return state_.tensors(); }
    const std::vector<FlatState<Space>>& flat_state() const noexcept final { return state_.flat(); }

protected:
    Ctx& context() const noexcept { return target_.context; }
    std::size_t packed_size() const noexcept { return target_.packed_size; }
    void append(FlatState<Space> state) {
        state_.add(target_.table, target_.packed_size, std::move(state));
    }
    device::Memory<float, Ctx> kept_state(std::string suffix) {
        device::Memory<float, Ctx> memory(target_.packed_size);
        append({std::move(suffix), memory.view()});
        return memory;
    }

private:
    ElementTarget<Ctx, T> target_;
    OwnedState<Space> state_;
};

}  // namespace lockstep::train
