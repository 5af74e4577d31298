// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/element_optimizer.hpp"

namespace lockstep::train {

template <class Ctx, class T>
class LionOptimizer final : public ElementOptimizer<Ctx, T> {
public:
    using Space = typename Ctx::Space;

    LionOptimizer(const OptimizerOptions& options, ElementTarget<Ctx, T> target)
        : ElementOptimizer<Ctx, T>(std::move(target)),
          options_{options.beta1, beta2_of(options), options.weight_decay},
          moment_(this->kept_state(".exp_avg")) {}

    void update_part(const kernels::StepState* state, const PartOperands<T, Space>& part) override {
        kernels::lion<T>(this->context(), {.options = options_,
                                           .state = state,
                                           .gradient = part.gradient,
                                           .master = part.master,
                                           .moment = part.of(moment_.view()),
                                           .compute = part.compute,
                                           .decays = part.decays});
    }

private:
    kernels::LionOptions options_;
    device::Memory<float, Ctx> moment_;
};

}  // namespace lockstep::train
