// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/element_optimizer.hpp"

namespace lockstep::train {

template <class Ctx, class T>
class AdamOptimizer final : public ElementOptimizer<Ctx, T> {
public:
    using Space = typename Ctx::Space;

    AdamOptimizer(const OptimizerOptions& options, ElementTarget<Ctx, T> target)
        : ElementOptimizer<Ctx, T>(std::move(target)),
          options_(adam_options(options)),
          first_moment_(this->kept_state(".exp_avg")),
          second_moment_(this->kept_state(".exp_avg_sq")) {
        if (options.amsgrad) largest_ = this->kept_state(".max_exp_avg_sq");
    }

    void update_part(const kernels::StepState* state, const PartOperands<T, Space>& part) override {
        kernels::adam<T>(this->context(), {.options = options_,
                                           .state = state,
                                           .gradient = part.gradient,
                                           .master = part.master,
                                           .first_moment = part.of(first_moment_.view()),
                                           .second_moment = part.of(second_moment_.view()),
                                           .largest = part.of(largest_.view()),
                                           .compute = part.compute,
                                           .decays = part.decays});
    }

private:
    kernels::AdamOptions options_;
    device::Memory<float, Ctx> first_moment_, second_moment_;
    device::Memory<float, Ctx> largest_;  // empty unless AMSGrad
};

}  // namespace lockstep::train
