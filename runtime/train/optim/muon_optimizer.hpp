// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/device/memory_of.hpp"
#include "runtime/train/optim/optimizer_parts.hpp"

namespace lockstep::train {

// Updates matrices of hidden layers by muon and the rest by adamw. A rank orthogonalises every
// matrix of which it owns a part. ".momentum_buffer" is also adamw's first moment, so that no
// optimizer's state fits another's; the second moments of muon's matrices stay 0.
template <class Ctx, class T>
class MuonOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;

    MuonOptimizer(const OptimizerOptions& options, OptimizerTarget<Ctx> target)
        : target_(target),
          adam_(adam_options(options)),
          muon_(muon_options(options)),
          first_moment_(target.store.packed_size()),
          second_moment_(target.store.packed_size()) {
        if (target.table.stage() > highest_zero_stage(OptimizerKind::muon))
            throw Error(ErrorKind::config, "muon updates whole matrices, whose gradients are gone");
        const std::size_t owned = target.store.packed_size();
        state_.add(target.table, owned, {".momentum_buffer", first_moment_.view()});
        state_.add(target.table, owned, {".exp_avg_sq", second_moment_.view()});
        for (const OwnedPart& part : target.store.owned())
            for (const Parameter& parameter : target.table.all()) add(part, parameter);
        std::size_t scratch = 0;
        for (const MatrixPart& of : matrices_)
            scratch = std::max(scratch, kernels::muon_scratch(of.matrix.rows, of.matrix.cols));
        scratch_ = device::Buffer<bf16, Space>(scratch);
    }

    Reads reads() const noexcept override { return Reads::all; }
    void prepare(const kernels::StepState* state) override {
        for (const MatrixPart& of : matrices_)
            kernels::muon_direction(target_.context, {.options = muon_,
                                                      .state = state,
                                                      .gradient = of.range.gradient,
                                                      .moment = of.range.first_moment});
    }
    void update(const kernels::StepState* state) override {
        for (const Element& of : elements_)
            kernels::adam<T>(target_.context, {.options = of.decays ? adam_ : without_decay(adam_),
                                               .state = state,
                                               .gradient = of.range.gradient,
                                               .master = of.range.master,
                                               .first_moment = of.range.first_moment,
                                               .second_moment = of.range.second_moment,
                                               .compute = of.range.compute});
        for (const MatrixPart& of : matrices_)
            kernels::muon<T>(target_.context, {.options = of.decays ? muon_ : without_decay(muon_),
                                               .state = state,
                                               .direction = of.matrix,
                                               .first = of.first,
                                               .master = of.range.master,
                                               .compute = of.range.compute,
                                               .scratch = scratch_.view()});
    }

    OptimizerBytes bytes() const noexcept override {
        return {.device = (first_moment_.size() + second_moment_.size()) * sizeof(float) +
                          scratch_.size() * sizeof(bf16)};
    }
    const std::vector<NamedTensor<Space>>& state() const noexcept override {
        return state_.tensors();
    }
    const std::vector<FlatState<Space>>& flat_state() const noexcept override {
        return state_.flat();
    }

private:
    // What this rank owns of a parameter, or of a matrix that is a part of one.
    struct Range {
        View<float, Space> gradient, master, first_moment, second_moment;
        View<T, Space> compute;
    };
    struct Element {
        Range range;
        bool decays = false;
    };
    struct MatrixPart {
        Range range;
        bool decays = false;
        MatrixView<const float, Space> matrix;  // of the gradient
        std::size_t first = 0;                  // element of the matrix
    };

    template <class Options>
    static Options without_decay(Options options) {
        options.weight_decay = 0;
        return options;
    }

    void add(const OwnedPart& part, const Parameter& parameter) {
        const bool decays = parameter.decay == WeightDecay::apply;
        std::size_t begin = parameter.offset;
        for (const PartShape& shape : part_shapes(parameter)) {
            const auto count = static_cast<std::size_t>(shape.rows * shape.cols);
            const std::size_t first = std::max(begin, part.first);
            const std::size_t end = std::min(begin + count, part.first + part.count);
            if (first < end) {
                const Range range = owned_range(part, first, end - first);
                if (parameter.hidden == Hidden::yes && shape.is_matrix())
                    matrices_.push_back(
                        {range,
                         decays,
                         {target_.store.gradient(begin, count).data(), shape.rows, shape.cols},
                         first - begin});
                else
                    elements_.push_back({range, decays});
            }
            begin += count;
        }
    }

    Range owned_range(const OwnedPart& part, std::size_t first, std::size_t count) const {
        const std::size_t behind = first - part.first;
        Range range;
        range.gradient = target_.store.gradient_sum(part).subview(behind, count);
        range.master = target_.store.master(part).subview(behind, count);
        range.first_moment = first_moment_.view().subview(part.packed + behind, count);
        range.second_moment = second_moment_.view().subview(part.packed + behind, count);
        range.compute = compute_range<T>(target_.store, first, count);
        return range;
    }

    OptimizerTarget<Ctx> target_;
    kernels::AdamOptions adam_;
    kernels::MuonOptions muon_;
    device::Memory<float, Ctx> first_moment_, second_moment_;
    device::Buffer<bf16, Space> scratch_;
    OwnedState<Space> state_;
    std::vector<Element> elements_;
    std::vector<MatrixPart> matrices_;
};

}  // namespace lockstep::train
