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
          decays_(kept(target.context, decay_lines(target.table, options.weight_decay))),
          options_{options.beta1, beta2_of(options), options.weight_decay},
          moment_(target.table.flat_size()) {
        append_tensors(tensors_, target.table, moment_.view(), ".exp_avg");
    }

    void update(const kernels::StepState* state) override {
        const auto& store = target_.store;
        kernels::lion<T>(target_.context, {.options = options_,
                                           .state = state,
                                           .gradient = store.gradient(),
                                           .master = store.master(),
                                           .moment = moment_.view(),
                                           .compute = compute_copy<T>(store),
                                           .decays = decays_.view()});
    }

    const std::vector<NamedTensor<Space>>& state() const noexcept override { return tensors_; }

private:
    OptimizerTarget<Ctx> target_;
    device::Buffer<std::uint32_t, Space> decays_;  // kernels::DecayLines
    kernels::LionOptions options_;
    device::Buffer<float, Space> moment_;
    std::vector<NamedTensor<Space>> tensors_;
};

}  // namespace lockstep::train
