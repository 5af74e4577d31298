// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/step.hpp"

#include <cmath>

#include "runtime/kernels/step_logic.hpp"

namespace lockstep::kernels {

void begin_step(CpuContext&, const StepOrder& order, Step* step) {
    step_logic::begin(order, *step);
}

void end_micro_batch(CpuContext&, Step* step) { step_logic::end_micro_batch(*step); }

void finish_step(CpuContext&, const StepRules& rules, Step* step) {
    const double t = step_logic::update_number(*step);
    step_logic::finish(rules,
                       {std::sqrt(step->squares.value()), 1.0 - std::pow(rules.beta1, t),
                        std::sqrt(1.0 - std::pow(rules.beta2, t))},
                       *step);
}

}  // namespace lockstep::kernels
