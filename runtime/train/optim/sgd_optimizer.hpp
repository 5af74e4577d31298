// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/optimizer_parts.hpp"

namespace lockstep::train {

template <class Ctx, class T>
class SgdOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;

    SgdOptimizer(const OptimizerOptions& options, OptimizerTarget<Ctx> target)
        : target_(target), parts_(target, options.weight_decay) {
        using Kind = kernels::SgdOptions::Kind;
        options_ = {static_cast<float>(options.momentum), static_cast<float>(options.weight_decay),
                    options.nesterov ? Kind::nesterov : Kind::plain};
        if (options.momentum == 0) return;
        momentum_ = device::Buffer<float, Space>(target.store.packed_size());
        state_.add(target.table, target.store, {".momentum_buffer", momentum_.view()});
    }

    void update(const kernels::StepState* state) override {
        for (const PartOperands<T, Space>& part : parts_.all())
            kernels::sgd<T>(target_.context, {.options = options_,
                                              .state = state,
                                              .gradient = part.gradient,
                                              .master = part.master,
                                              .momentum_buffer = part.of(momentum_.view()),
                                              .compute = part.compute,
                                              .decays = part.decays});
    }

    const std::vector<NamedTensor<Space>>& state() const noexcept override {
        return state_.tensors();
    }
    const std::vector<FlatState<Space>>& flat_state() const noexcept override {
        return state_.flat();
    }

private:
    OptimizerTarget<Ctx> target_;
    OwnedOperands<Ctx, T> parts_;
    kernels::SgdOptions options_{};
    device::Buffer<float, Space> momentum_;  // empty without momentum
    OwnedState<Space> state_;
};

}  // namespace lockstep::train
