// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/optimizer_parts.hpp"

namespace lockstep::train {

// Is adam and adamw with moments in int8. Parameters begin where cells do, so no scale is of two.
template <class Ctx, class T>
class CodedAdamOptimizer final : public Optimizer<typename Ctx::Space> {
public:
    using Space = typename Ctx::Space;

    CodedAdamOptimizer(const OptimizerOptions& options, OptimizerTarget<Ctx> target)
        : target_(target),
          decays_(kept(target.context, decay_lines(target.table, options.weight_decay))),
          options_(adam_options(options)),
          first_moment_(target, kernels::DynamicMap::with_sign),
          second_moment_(target, kernels::DynamicMap::without_sign) {
        static_assert(grain % kernels::moment_cell == 0);
        require(!options.amsgrad, "moments in int8 are those of adam without amsgrad");
        append(first_moment_.view(), ".exp_avg");
        append(second_moment_.view(), ".exp_avg_sq");
    }

    void update(const kernels::StepState* state) override {
        const auto& store = target_.store;
        kernels::coded_adam<T>(target_.context, {.options = options_,
                                                 .state = state,
                                                 .gradient = store.gradient(),
                                                 .master = store.master(),
                                                 .first_moment = first_moment_.view(),
                                                 .second_moment = second_moment_.view(),
                                                 .compute = compute_copy<T>(store),
                                                 .decays = decays_.view()});
    }

    const std::vector<NamedTensor<Space>>& state() const noexcept override { return tensors_; }

private:
    // Begins with the code of 0 everywhere.
    struct Moment {
        Moment(OptimizerTarget<Ctx> target, kernels::DynamicMap map)
            : codes(kept(target.context, std::vector<std::uint8_t>(target.table.flat_size(),
                                                                   kernels::code_of_zero(map)))),
              scales(kernels::moment_scales(target.table.flat_size())) {}

        kernels::CodedMoment<Space> view() const { return {codes.view(), scales.view()}; }

        device::Buffer<std::uint8_t, Space> codes;
        device::Buffer<float, Space> scales;
    };

    void append(const kernels::CodedMoment<Space>& moment, const std::string& suffix) {
        for (const Parameter& parameter : target_.table.all())
            tensors_.push_back({parameter.name + suffix, parameter.shape,
                                moment.scales.subview(parameter.offset / kernels::moment_cell,
                                                      kernels::moment_scales(parameter.count)),
                                moment.codes.subview(parameter.offset, parameter.count)});
    }

    OptimizerTarget<Ctx> target_;
    device::Buffer<std::uint32_t, Space> decays_;  // kernels::DecayLines
    kernels::AdamOptions options_;
    Moment first_moment_, second_moment_;
    std::vector<NamedTensor<Space>> tensors_;
};

}  // namespace lockstep::train
