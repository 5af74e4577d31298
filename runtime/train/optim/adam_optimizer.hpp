// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/optimizer_parts.hpp"

namespace lockstep::train {

template <class Ctx, class T>
class AdamOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;

    AdamOptimizer(const OptimizerOptions& options, OptimizerTarget<Ctx> target)
        : target_(target),
          parts_(target, options.weight_decay),
          options_(adam_options(options)),
          first_moment_(target.store.packed_size()),
          second_moment_(target.store.packed_size()) {
        state_.add(target.table, target.store, {".exp_avg", first_moment_.view()});
        state_.add(target.table, target.store, {".exp_avg_sq", second_moment_.view()});
        if (!options.amsgrad) return;
        largest_ = device::Buffer<float, Space>(target.store.packed_size());
        state_.add(target.table, target.store, {".max_exp_avg_sq", largest_.view()});
    }

    void update(const kernels::StepState* state) override {
        for (const PartOperands<T, Space>& part : parts_.all())
            kernels::adam<T>(target_.context, {.options = options_,
                                               .state = state,
                                               .gradient = part.gradient,
                                               .master = part.master,
                                               .first_moment = part.of(first_moment_.view()),
                                               .second_moment = part.of(second_moment_.view()),
                                               .largest = part.of(largest_.view()),
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
    kernels::AdamOptions options_;
    device::Buffer<float, Space> first_moment_, second_moment_;
    device::Buffer<float, Space> largest_;  // empty unless AMSGrad
    OwnedState<Space> state_;
};

}  // namespace lockstep::train
