// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/optimizers.hpp"
#include "runtime/train/optimizer_parts.hpp"

namespace lockstep::train {
namespace {

kernels::AdamOptions adam_options(const OptimizerOptions& options) {
    using Decay = kernels::AdamOptions::Decay;
    return {static_cast<float>(options.beta1), static_cast<float>(options.beta2),
            static_cast<float>(options.adam_eps), 0,
            options.kind == OptimizerKind::adamw ? Decay::decoupled : Decay::l2};
}

template <class T>
class AdamOptimizer final : public Optimizer {
public:
    AdamOptimizer(const OptimizerOptions& options, OptimizerTarget target)
        : target_(target),
          ranges_(decay_ranges(target.table, options.weight_decay)),
          options_(adam_options(options)),
          first_moment_(target.table.flat_size()),
          second_moment_(target.table.flat_size()) {
        append_tensors(tensors_, target.table, first_moment_.view(), ".exp_avg");
        append_tensors(tensors_, target.table, second_moment_.view(), ".exp_avg_sq");
        if (!options.amsgrad) return;
        largest_ = device::Buffer<float, HostSpace>(target.table.flat_size());
        append_tensors(tensors_, target.table, largest_.view(), ".max_exp_avg_sq");
    }

    void update(const kernels::StepState* state) override {
        const auto& store = target_.store;
        for (const auto& [first, count, weight_decay] : ranges_) {
            kernels::AdamOptions options = options_;
            options.weight_decay = weight_decay;
            const auto largest =
                largest_.size() > 0 ? largest_.view().subview(first, count) : HostView<float>{};
            kernels::adam<T>(
                target_.context, options, state, store.gradient().subview(first, count),
                store.master().subview(first, count), first_moment_.view().subview(first, count),
                second_moment_.view().subview(first, count), largest,
                compute_range<T>(store, first, count));
        }
    }

    const std::vector<OptimizerTensor>& state() const noexcept override { return tensors_; }

private:
    OptimizerTarget target_;
    std::vector<DecayRange> ranges_;
    kernels::AdamOptions options_;
    device::Buffer<float, HostSpace> first_moment_, second_moment_;
    device::Buffer<float, HostSpace> largest_;  // empty unless AMSGrad
    std::vector<OptimizerTensor> tensors_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const OptimizerOptions& options, OptimizerTarget target) {
    if (target.store.precision() == Precision::fp32)
        return std::make_unique<AdamOptimizer<float>>(options, target);
    return std::make_unique<AdamOptimizer<bf16>>(options, target);
}

}  // namespace lockstep::train
