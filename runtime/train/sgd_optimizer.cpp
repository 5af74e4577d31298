// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/optimizers.hpp"
#include "runtime/train/optimizer_parts.hpp"

namespace lockstep::train {
namespace {

template <class T>
class SgdOptimizer final : public Optimizer {
public:
    SgdOptimizer(const OptimizerOptions& options, OptimizerTarget target)
        : target_(target), ranges_(decay_ranges(target.table, options.weight_decay)) {
        using Kind = kernels::SgdOptions::Kind;
        options_ = {static_cast<float>(options.momentum), 0,
                    options.nesterov ? Kind::nesterov : Kind::plain};
        if (options.momentum == 0) return;
        momentum_ = device::Buffer<float, HostSpace>(target.table.flat_size());
        append_tensors(tensors_, target.table, momentum_.view(), ".momentum_buffer");
    }

    void update(const kernels::StepState* state) override {
        const auto& store = target_.store;
        for (const auto& [first, count, weight_decay] : ranges_) {
            kernels::SgdOptions options = options_;
            options.weight_decay = weight_decay;
            const auto momentum =
                momentum_.size() > 0 ? momentum_.view().subview(first, count) : HostView<float>{};
            kernels::sgd<T>(target_.context, options, state, store.gradient().subview(first, count),
                            store.master().subview(first, count), momentum,
                            compute_range<T>(store, first, count));
        }
    }

    const std::vector<OptimizerTensor>& state() const noexcept override { return tensors_; }

private:
    OptimizerTarget target_;
    std::vector<DecayRange> ranges_;
    kernels::SgdOptions options_{};
    device::Buffer<float, HostSpace> momentum_;  // empty without momentum
    std::vector<OptimizerTensor> tensors_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const OptimizerOptions& options, OptimizerTarget target) {
    if (target.store.precision() == Precision::fp32)
        return std::make_unique<SgdOptimizer<float>>(options, target);
    return std::make_unique<SgdOptimizer<bf16>>(options, target);
}

}  // namespace lockstep::train
