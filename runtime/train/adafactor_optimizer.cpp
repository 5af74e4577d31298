// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/kernels/optimizers.hpp"
#include "runtime/train/optimizer_parts.hpp"

namespace lockstep::train {
namespace {

using HostBuffer = device::Buffer<float, HostSpace>;

// One parameter as a matrix, with its part of the optimizer's memory.
struct Factored {
    std::size_t first = 0;
    std::int64_t rows = 1, cols = 1;
    float weight_decay = 0;
    HostBuffer row, column, full, first_moment;

    std::size_t count() const noexcept { return static_cast<std::size_t>(rows * cols); }
};

// Fixed where ParlAI has no option: fairseq's own values.
kernels::AdafactorOptions adafactor_options(const OptimizerOptions& options) {
    constexpr float clip_threshold = 1.0F, decay_rate = -0.8F;
    using Kernel = kernels::AdafactorOptions;
    return {static_cast<float>(options.adafactor_eps1),
            static_cast<float>(options.adafactor_eps2),
            clip_threshold,
            decay_rate,
            static_cast<float>(options.beta1),
            0,
            options.adafactor_relative_step ? Kernel::Step::relative : Kernel::Step::given,
            Kernel::Scale::parameter};
}

template <class T>
class AdafactorOptimizer final : public Optimizer {
public:
    AdafactorOptimizer(const OptimizerOptions& options, OptimizerTarget target)
        : target_(target), options_(adafactor_options(options)) {
        std::size_t largest = 0;
        for (const Parameter& parameter : target.table.all()) {
            add(parameter, options);
            largest = std::max(largest, parameter.count);
        }
        scratch_ = HostBuffer(largest);
    }

    void update(const kernels::StepState* state) override {
        const auto& store = target_.store;
        for (Factored& p : factored_) {
            kernels::AdafactorOptions options = options_;
            options.weight_decay = p.weight_decay;
            const HostMatrix<const float> gradient{store.gradient().data() + p.first, p.rows,
                                                   p.cols};
            const HostMatrix<float> master{store.master().data() + p.first, p.rows, p.cols};
            kernels::adafactor<T>(target_.context, options, state, gradient, master, p.row.view(),
                                  p.column.view(), p.full.view(), p.first_moment.view(),
                                  scratch_.view().subview(0, p.count()),
                                  compute_range<T>(store, p.first, p.count()));
        }
    }

    const std::vector<OptimizerTensor>& state() const noexcept override { return tensors_; }

private:
    void add(const Parameter& parameter, const OptimizerOptions& options) {
        Factored p;
        p.first = parameter.offset;
        p.cols = parameter.shape.empty() ? 1 : parameter.shape.back();
        p.rows = static_cast<std::int64_t>(parameter.count) / std::max<std::int64_t>(1, p.cols);
        if (parameter.decay == WeightDecay::apply)
            p.weight_decay = static_cast<float>(options.weight_decay);
        if (parameter.shape.size() >= 2 && p.rows > 1 && p.cols > 1) {
            p.row = HostBuffer(static_cast<std::size_t>(p.rows));
            p.column = HostBuffer(static_cast<std::size_t>(p.cols));
            tensors_.push_back({parameter.name + ".exp_avg_sq_row", {p.rows}, p.row.view()});
            tensors_.push_back({parameter.name + ".exp_avg_sq_col", {p.cols}, p.column.view()});
        } else {
            p.full = HostBuffer(parameter.count);
            tensors_.push_back({parameter.name + ".exp_avg_sq", parameter.shape, p.full.view()});
        }
        if (options.beta1 != 0) {
            p.first_moment = HostBuffer(parameter.count);
            tensors_.push_back(
                {parameter.name + ".exp_avg", parameter.shape, p.first_moment.view()});
        }
        factored_.push_back(std::move(p));
    }

    OptimizerTarget target_;
    kernels::AdafactorOptions options_;
    std::vector<Factored> factored_;
    HostBuffer scratch_;  // of the largest parameter
    std::vector<OptimizerTensor> tensors_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adafactor(const OptimizerOptions& options, OptimizerTarget target) {
    if (target.store.precision() == Precision::fp32)
        return std::make_unique<AdafactorOptimizer<float>>(options, target);
    return std::make_unique<AdafactorOptimizer<bf16>>(options, target);
}

}  // namespace lockstep::train
