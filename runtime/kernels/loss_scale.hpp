// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockstep::kernels {

// The rule by which the loss scale, the factor that keeps fp16 gradients in range, reacts to
// overflows. It is ParlAI's rule, which is fairseq's without a tolerance: each overflow divides the
// scale by `factor`. `fixed` is for types that need no loss scale.
struct LossScaling {
    enum class Kind { fixed, dynamic } kind = Kind::fixed;
    float first = 1;  // initial value; a power of two
    float floor = 0;  // the run ends when an overflow leads to this value
    float factor = 2;
    std::int64_t window = 2000;  // steps without overflow until the scale grows
};

struct LossScale {
    float value = 1;
    std::int64_t steps = 0;
    std::int64_t last_overflow = -1;
};

enum class Overflow { no, yes };

// Returns the scale after one more step.
constexpr LossScale next(LossScale scale, const LossScaling& rule, Overflow overflow) noexcept {
    if (rule.kind == LossScaling::Kind::fixed) return scale;
    if (overflow == Overflow::yes) {
        scale.last_overflow = scale.steps;
        scale.value /= rule.factor;
    } else if ((scale.steps - scale.last_overflow) % rule.window == 0) {
        scale.value *= rule.factor;
    }
    ++scale.steps;
    return scale;
}

}  // namespace lockstep::kernels
