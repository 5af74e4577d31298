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
    step_logic::finish(rules, std::sqrt(step->sum_of_squares), *step);
}

}  // namespace lockstep::kernels
