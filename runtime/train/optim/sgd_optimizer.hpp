// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/optimizer_parts.hpp"

namespace lockstep::train {

template <class Ctx, class T>
class SgdOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;

    SgdOptimizer(const OptimizerOptions& options, OptimizerTarget<Ctx> target)
        : target_(target),
          decays_(kept(target.context, decay_lines(target.table, options.weight_decay))) {
        using Kind = kernels::SgdOptions::Kind;
        options_ = {static_cast<float>(options.momentum), static_cast<float>(options.weight_decay),
                    options.nesterov ? Kind::nesterov : Kind::plain};
        if (options.momentum == 0) return;
        momentum_ = device::Buffer<float, Space>(target.table.flat_size());
        append_tensors(tensors_, target.table, momentum_.view(), ".momentum_buffer");
    }

    void update(const kernels::StepState* state) override {
        const auto& store = target_.store;
        kernels::sgd<T>(target_.context, {.options = options_,
                                          .state = state,
                                          .gradient = store.gradient(),
                                          .master = store.master(),
                                          .momentum_buffer = momentum_.view(),
                                          .compute = compute_copy<T>(store),
                                          .decays = decays_.view()});
    }

    const std::vector<NamedTensor<Space>>& state() const noexcept override { return tensors_; }

private:
    OptimizerTarget<Ctx> target_;
    device::Buffer<std::uint32_t, Space> decays_;  // kernels::DecayLines
    kernels::SgdOptions options_{};
    device::Buffer<float, Space> momentum_;  // empty without momentum
    std::vector<NamedTensor<Space>> tensors_;
};

}  // namespace lockstep::train
