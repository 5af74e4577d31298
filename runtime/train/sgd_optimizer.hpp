// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optimizer_parts.hpp"

namespace lockstep::train {

template <class Ctx, class T>
class SgdOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;

    SgdOptimizer(const OptimizerOptions& options, OptimizerTarget<Ctx> target)
        : target_(target), ranges_(decay_ranges(target.table, options.weight_decay)) {
        using Kind = kernels::SgdOptions::Kind;
        options_ = {static_cast<float>(options.momentum), 0,
                    options.nesterov ? Kind::nesterov : Kind::plain};
        if (options.momentum == 0) return;
        momentum_ = device::Buffer<float, Space>(target.table.flat_size());
        append_tensors(tensors_, target.table, momentum_.view(), ".momentum_buffer");
    }

    void update(const kernels::StepState* state) override {
        const auto& store = target_.store;
        for (const auto& [first, count, weight_decay] : ranges_) {
            kernels::SgdOptions options = options_;
            options.weight_decay = weight_decay;
            const auto momentum = momentum_.size() > 0 ? momentum_.view().subview(first, count)
                                                       : View<float, Space>{};
            kernels::sgd<T>(target_.context, options, state, store.gradient().subview(first, count),
                            master_range(store, first, count), momentum,
                            compute_range<T>(store, first, count));
        }
    }

    const std::vector<TensorIn<Space>>& state() const noexcept override { return tensors_; }

private:
    OptimizerTarget<Ctx> target_;
    std::vector<DecayRange> ranges_;
    kernels::SgdOptions options_{};
    device::Buffer<float, Space> momentum_;  // empty without momentum
    std::vector<TensorIn<Space>> tensors_;
};

}  // namespace lockstep::train
