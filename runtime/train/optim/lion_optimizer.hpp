// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/optimizer_parts.hpp"

namespace lockstep::train {

template <class Ctx, class T>
class LionOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;

    LionOptimizer(const OptimizerOptions& options, OptimizerTarget<Ctx> target)
        : target_(target),
          parts_(target, options.weight_decay),
          options_{options.beta1, beta2_of(options), options.weight_decay},
          moment_(target.store.packed_size()) {
        state_.add(target.table, target.store, {".exp_avg", moment_.view()});
    }

    void update(const kernels::StepState* state) override {
        for (const PartOperands<T, Space>& part : parts_.all())
            kernels::lion<T>(target_.context, {.options = options_,
                                               .state = state,
                                               .gradient = part.gradient,
                                               .master = part.master,
                                               .moment = part.of(moment_.view()),
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
    kernels::LionOptions options_;
    device::Buffer<float, Space> moment_;
    OwnedState<Space> state_;
};

}  // namespace lockstep::train
