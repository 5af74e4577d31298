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
        const std::vector<PartShape> parts = part_shapes(parameter);
        Factored<Space> whole;
        if (parameter.decay == WeightDecay::apply)
            whole.weight_decay = static_cast<float>(options.weight_decay);
        std::int64_t rows = 0, cols = 0;
        for (const PartShape& part : parts) rows += part.rows, cols += part.cols;
        const bool matrices = std::ranges::all_of(parts, &PartShape::is_matrix);
        if (matrices) {
            whole.row = keep(parameter.name + ".exp_avg_sq_row", {rows});
            whole.column = keep(parameter.name + ".exp_avg_sq_col", {cols});
        } else {
            whole.full = keep(parameter.name + ".exp_avg_sq", parameter.shape);
        }
        if (options.beta1 != 0)
            whole.first_moment = keep(parameter.name + ".exp_avg", parameter.shape);
        whole.first = parameter.offset;
        for (const PartShape& part : parts) factored_.push_back(take(whole, part));
    }

    // Takes the next part's share of what is left of the parameter.
    static Factored<Space> take(Factored<Space>& left, const PartShape& part) {
        const auto share = [](View<float, Space>& of, std::size_t size) {
            if (of.empty()) return of;
            const View<float, Space> taken = of.subview(0, size);
            of = of.subview(size, of.size() - size);
            return taken;
        };
        Factored<Space> p = left;
        p.rows = part.rows, p.cols = part.cols;
        p.row = share(left.row, static_cast<std::size_t>(part.rows));
        p.column = share(left.column, static_cast<std::size_t>(part.cols));
        p.full = share(left.full, p.count());
        p.first_moment = share(left.first_moment, p.count());
        left.first += p.count();
        return p;
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
