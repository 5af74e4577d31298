// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/element_optimizer.hpp"

namespace lockstep::train {

template <class Ctx, class T>
class SgdOptimizer final : public ElementOptimizer<Ctx, T> {
public:
    using Space = typename Ctx::Space;

    SgdOptimizer(const OptimizerOptions& options, ElementTarget<Ctx, T> target)
        : ElementOptimizer<Ctx, T>(std::move(target)) {
        using Kind = kernels::SgdOptions::Kind;
        options_ = {static_cast<float>(options.momentum), static_cast<float>(options.weight_decay),
                    options.nesterov ? Kind::nesterov : Kind::plain};
        if (options.momentum != 0) momentum_ = this->kept_state(".momentum_buffer");
    }

    void update_part(const kernels::StepState* state, const PartOperands<T, Space>& part) override {
        kernels::sgd<T>(this->context(), {.options = options_,
                                          .state = state,
                                          .gradient = part.gradient,
                                          .master = part.master,
                                          .momentum_buffer = part.of(momentum_.view()),
                                          .compute = part.compute,
                                          .decays = part.decays});
    }

private:
    kernels::SgdOptions options_{};
    device::Memory<float, Ctx> momentum_;  // empty without momentum
};

}  // namespace lockstep::train
