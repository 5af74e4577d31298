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
          parts_(target, options.weight_decay),
          options_(adam_options(options)),
          first_moment_(target, kernels::DynamicMap::with_sign),
          second_moment_(target, kernels::DynamicMap::without_sign) {
        static_assert(grain % kernels::moment_cell == 0);
        require(!options.amsgrad, "moments in int8 are those of adam without amsgrad");
        append(first_moment_, ".exp_avg");
        append(second_moment_, ".exp_avg_sq");
    }

    void update(const kernels::StepState* state) override {
        for (const PartOperands<T, Space>& part : parts_.all())
            kernels::coded_adam<T>(target_.context,
                                   {.options = options_,
                                    .state = state,
                                    .gradient = part.gradient,
                                    .master = part.master,
                                    .first_moment = part.of(first_moment_.view()),
                                    .second_moment = part.of(second_moment_.view()),
                                    .compute = part.compute,
                                    .decays = part.decays});
    }

    const std::vector<NamedTensor<Space>>& state() const noexcept override {
        return state_.tensors();
    }
    const std::vector<FlatState<Space>>& flat_state() const noexcept override {
        return state_.flat();
    }

private:
    // Begins with the code of 0 everywhere.
    struct Moment {
        Moment(OptimizerTarget<Ctx> target, kernels::DynamicMap map)
            : zero(kernels::code_of_zero(map)),
              codes(kept(target.context,
                         std::vector<std::uint8_t>(target.store.packed_size(), zero))),
              scales(kernels::moment_scales(target.store.packed_size())) {}

        kernels::CodedMoment<Space> view() const { return {codes.view(), scales.view()}; }

        std::uint8_t zero;
        device::Buffer<std::uint8_t, Space> codes;
        device::Buffer<float, Space> scales;
    };

    void append(const Moment& moment, const std::string& suffix) {
        state_.add(target_.table, target_.store,
                   {suffix, moment.scales.view(), moment.codes.view(), moment.zero});
    }

    OptimizerTarget<Ctx> target_;
    OwnedOperands<Ctx, T> parts_;
    kernels::AdamOptions options_;
    Moment first_moment_, second_moment_;
    OwnedState<Space> state_;
};

}  // namespace lockstep::train
