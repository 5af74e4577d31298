// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step_vector.hpp"

#include <cmath>

namespace lockstep::train {

void StepVector::add(const kernels::LossSums& sums) noexcept {
    (*this)[StepSum::loss] += sums.loss;
    (*this)[StepSum::nll] += sums.nll;
    (*this)[StepSum::tokens] += sums.tokens;
    (*this)[StepSum::correct] += sums.correct;
    if (!std::isfinite(sums.loss)) (*this)[StepSum::nonfinite_losses] += 1;
}

}  // namespace lockstep::train
