// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "runtime/kernels/cpu/decay_runs.hpp"
#include "runtime/kernels/optimizers.hpp"

namespace lockstep::kernels::cpu {

// The numbers of one update of Adam. Those that torch calculates in double are rounded once.
struct AdamUpdate {
    float gradient_scale, l2, shrink;  // w *= shrink: decoupled decay
    float rest1, beta2, rest2;         // rest = 1 - beta
    float step_size, root_correction2, epsilon;
};

inline AdamUpdate adam_update(const AdamOptions& options, const StepState& state, Decays decays) {
    const double lr = double{state.lr};
    const double decay = decays == Decays::yes ? options.weight_decay : 0.0;
    const bool decoupled = options.decay == AdamOptions::Decay::decoupled;
    AdamUpdate u{};
    u.gradient_scale = state.gradient_scale;
    u.l2 = decoupled ? 0.0f : static_cast<float>(decay);
    u.shrink = decoupled ? static_cast<float>(std::fma(-lr, decay, 1.0)) : 1.0f;
    u.rest1 = static_cast<float>(1.0 - options.beta1);
    u.beta2 = static_cast<float>(options.beta2);
    u.rest2 = static_cast<float>(1.0 - options.beta2);
    u.step_size = state.adam_step_size;
    u.root_correction2 = state.adam_root_correction2;
    u.epsilon = static_cast<float>(options.epsilon);
    return u;
}

}  // namespace lockstep::kernels::cpu
