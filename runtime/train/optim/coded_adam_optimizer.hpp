// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/train/optim/element_optimizer.hpp"

namespace lockstep::train {

// Is adam and adamw with moments in int8. Parameters begin where cells do, so no scale is of two.
template <class Ctx, class T>
class CodedAdamOptimizer final : public ElementOptimizer<Ctx, T> {
public:
    using Space = typename Ctx::Space;

    CodedAdamOptimizer(const OptimizerOptions& options, ElementTarget<Ctx, T> target)
        : ElementOptimizer<Ctx, T>(std::move(target)),
          options_(adam_options(options)),
          first_moment_(this->context(), this->packed_size(), kernels::DynamicMap::with_sign),
          second_moment_(this->context(), this->packed_size(), kernels::DynamicMap::without_sign) {
        static_assert(grain % kernels::moment_cell == 0);
        require(!options.amsgrad, "moments in int8 are those of adam without amsgrad");
        append_moment(first_moment_, ".exp_avg");
        append_moment(second_moment_, ".exp_avg_sq");
    }

    void update_part(const kernels::StepState* state, const PartOperands<T, Space>& part) override {
        kernels::coded_adam<T>(this->context(), {.options = options_,
                                                 .state = state,
                                                 .gradient = part.gradient,
                                                 .master = part.master,
                                                 .first_moment = part.of(first_moment_.view()),
                                                 .second_moment = part.of(second_moment_.view()),
                                                 .compute = part.compute,
                                                 .decays = part.decays});
    }

private:
    // Begins with the code of 0 everywhere.
    struct Moment {
        Moment(Ctx& context, std::size_t size, kernels::DynamicMap map)
            : zero(kernels::code_of_zero(map)),
              codes(kept(context, size, zero)),
              scales(kernels::moment_scales(size)) {}

        kernels::CodedMoment<Space> view() const { return {codes.view(), scales.view()}; }

        std::uint8_t zero;
        device::Buffer<std::uint8_t, Space> codes;
        device::Buffer<float, Space> scales;
    };

    void append_moment(const Moment& moment, const std::string& suffix) {
        this->append({suffix, moment.scales.view(), moment.codes.view(), moment.zero});
    }

    kernels::AdamOptions options_;
    Moment first_moment_, second_moment_;
};

}  // namespace lockstep::train
