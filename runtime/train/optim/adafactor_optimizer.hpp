// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "runtime/train/optim/optimizer_parts.hpp"

namespace lockstep::train {

// Describes one part of a parameter as a matrix, with its share of the optimizer's memory.
template <class Space>
struct Factored {
    std::size_t first = 0;
    std::int64_t rows = 1, cols = 1;
    float weight_decay = 0;
    View<float, Space> row, column, full, first_moment;

    std::size_t count() const noexcept { return static_cast<std::size_t>(rows * cols); }
};

template <class Ctx, class T>
class AdafactorOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;
    using Floats = device::Buffer<float, Space>;

    AdafactorOptimizer(const OptimizerOptions& options, OptimizerTarget<Ctx> target)
        : target_(target), options_(adafactor_options(options)) {
        if (!target.store.owns_all())
            throw Error(ErrorKind::config,
                        "adafactor updates whole matrices, which ranks cannot share");
        std::size_t largest = 0;
        for (const Parameter& parameter : target.table.all()) {
            add(parameter, options);
            largest = std::max(largest, parameter.count);
        }
        scratch_ = Floats(largest);
        kernels::reserve_adafactor(target.context);
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
            kernels::adafactor<T>(target_.context,
                                  {.options = options,
                                   .state = state,
                                   .gradient = gradient,
                                   .master = master,
                                   .row = p.row,
                                   .column = p.column,
                                   .full = p.full,
                                   .first_moment = p.first_moment,
                                   .scratch = scratch_.view().subview(0, p.count()),
                                   .compute = compute_range<T>(store, p.first, p.count())});
        }
    }

    OptimizerBytes bytes() const noexcept override {
        std::size_t floats = scratch_.size();
        for (const Floats& memory : memory_) floats += memory.size();
        return {.device = floats * sizeof(float)};
    }
    const std::vector<NamedTensor<Space>>& state() const noexcept override { return tensors_; }
    const std::vector<FlatState<Space>>& flat_state() const noexcept override { return flat_; }

private:
    void add(const Parameter& parameter, const OptimizerOptions& options) {
        const PartShape part = part_shape(parameter);
        Factored<Space> whole;
        whole.rows = part.rows;
        whole.cols = part.cols;
        if (parameter.decay == WeightDecay::apply)
            whole.weight_decay = static_cast<float>(options.weight_decay);
        if (part.is_matrix()) {
            whole.row = keep(parameter.name + ".exp_avg_sq_row", {parameter.parts * part.rows});
            whole.column = keep(parameter.name + ".exp_avg_sq_col", {parameter.parts * part.cols});
        } else {
            whole.full = keep(parameter.name + ".exp_avg_sq", parameter.shape);
        }
        if (options.beta1 != 0)
            whole.first_moment = keep(parameter.name + ".exp_avg", parameter.shape);
        for (int i = 0; i < parameter.parts; ++i) {
            const auto share = [&](View<float, Space> of) {
                const std::size_t size = of.size() / static_cast<std::size_t>(parameter.parts);
                return of.subview(static_cast<std::size_t>(i) * size, size);
            };
            Factored<Space> p = whole;
            p.first = parameter.offset + static_cast<std::size_t>(i) * whole.count();
            p.row = share(whole.row);
            p.column = share(whole.column);
            p.full = share(whole.full);
            p.first_moment = share(whole.first_moment);
            factored_.push_back(p);
        }
    }

    View<float, Space> keep(std::string name, std::vector<std::int64_t> shape) {
        std::size_t count = 1;
        for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
        memory_.emplace_back(count);
        tensors_.push_back({std::move(name), std::move(shape), memory_.back().view()});
        return memory_.back().view();
    }

    OptimizerTarget<Ctx> target_;
    kernels::AdafactorOptions options_;
    std::vector<Factored<Space>> factored_;
    std::vector<Floats> memory_;
    Floats scratch_;  // size of the largest parameter
    std::vector<NamedTensor<Space>> tensors_;
    std::vector<FlatState<Space>> flat_;  // empty
};

}  // namespace lockstep::train
