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
          decays_(kept(target.context, decay_lines(target.table, options.weight_decay))),
          options_(adam_options(options)),
          first_moment_(target.table.flat_size()),
          second_moment_(target.table.flat_size()) {
        append_tensors(tensors_, target.table, first_moment_.view(), ".exp_avg");
        append_tensors(tensors_, target.table, second_moment_.view(), ".exp_avg_sq");
        if (!options.amsgrad) return;
        largest_ = device::Buffer<float, Space>(target.table.flat_size());
        append_tensors(tensors_, target.table, largest_.view(), ".max_exp_avg_sq");
    }

    void update(const kernels::StepState* state) override {
        const auto& store = target_.store;
        kernels::adam<T>(target_.context, {.options = options_,
                                           .state = state,
                                           .gradient = store.gradient(),
                                           .master = store.master(),
                                           .first_moment = first_moment_.view(),
                                           .second_moment = second_moment_.view(),
                                           .largest = largest_.view(),
                                           .compute = compute_copy<T>(store),
                                           .decays = decays_.view()});
    }

    const std::vector<NamedTensor<Space>>& state() const noexcept override { return tensors_; }

private:
    OptimizerTarget<Ctx> target_;
    device::Buffer<std::uint32_t, Space> decays_;  // kernels::DecayLines
    kernels::AdamOptions options_;
    device::Buffer<float, Space> first_moment_, second_moment_;
    device::Buffer<float, Space> largest_;  // empty unless AMSGrad
    std::vector<NamedTensor<Space>> tensors_;
};

}  // namespace lockstep::train
