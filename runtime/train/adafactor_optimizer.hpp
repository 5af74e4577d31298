// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "runtime/train/optimizer_parts.hpp"

namespace lockstep::train {

// One parameter as a matrix, with its part of the optimizer's memory.
template <class Space>
struct Factored {
    std::size_t first = 0;
    std::int64_t rows = 1, cols = 1;
    float weight_decay = 0;
    device::Buffer<float, Space> row, column, full, first_moment;

    std::size_t count() const noexcept { return static_cast<std::size_t>(rows * cols); }
};

template <class Ctx, class T>
class AdafactorOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;
    using Floats = device::Buffer<float, Space>;

    AdafactorOptimizer(const OptimizerOptions& options, OptimizerTarget<Ctx> target)
        : target_(target), options_(adafactor_options(options)) {
        std::size_t largest = 0;
        for (const Parameter& parameter : target.table.all()) {
            add(parameter, options);
            largest = std::max(largest, parameter.count);
        }
        scratch_ = Floats(largest);
    }

    void update(const kernels::StepState* state) override {
        const auto& store = target_.store;
        for (Factored<Space>& p : factored_) {
            kernels::AdafactorOptions options = options_;
            options.weight_decay = p.weight_decay;
            const MatrixView<const float, Space> gradient{store.gradient().data() + p.first, p.rows,
                                                          p.cols};
            const MatrixView<float, Space> master{master_range(store, p.first, p.count()).data(),
                                                  p.rows, p.cols};
            kernels::adafactor<T>(target_.context, options, state, gradient, master, p.row.view(),
                                  p.column.view(), p.full.view(), p.first_moment.view(),
                                  scratch_.view().subview(0, p.count()),
                                  compute_range<T>(store, p.first, p.count()));
        }
    }

    const std::vector<TensorIn<Space>>& state() const noexcept override { return tensors_; }

private:
    void add(const Parameter& parameter, const OptimizerOptions& options) {
        Factored<Space> p;
        p.first = parameter.offset;
        p.cols = parameter.shape.empty() ? 1 : parameter.shape.back();
        p.rows = static_cast<std::int64_t>(parameter.count) / std::max<std::int64_t>(1, p.cols);
        if (parameter.decay == WeightDecay::apply)
            p.weight_decay = static_cast<float>(options.weight_decay);
        if (parameter.shape.size() >= 2 && p.rows > 1 && p.cols > 1) {
            p.row = Floats(static_cast<std::size_t>(p.rows));
            p.column = Floats(static_cast<std::size_t>(p.cols));
            tensors_.push_back({parameter.name + ".exp_avg_sq_row", {p.rows}, p.row.view()});
            tensors_.push_back({parameter.name + ".exp_avg_sq_col", {p.cols}, p.column.view()});
        } else {
            p.full = Floats(parameter.count);
            tensors_.push_back({parameter.name + ".exp_avg_sq", parameter.shape, p.full.view()});
        }
        if (options.beta1 != 0) {
            p.first_moment = Floats(parameter.count);
            tensors_.push_back(
                {parameter.name + ".exp_avg", parameter.shape, p.first_moment.view()});
        }
        factored_.push_back(std::move(p));
    }

    OptimizerTarget<Ctx> target_;
    kernels::AdafactorOptions options_;
    std::vector<Factored<Space>> factored_;
    Floats scratch_;  // of the largest parameter
    std::vector<TensorIn<Space>> tensors_;
};

}  // namespace lockstep::train
