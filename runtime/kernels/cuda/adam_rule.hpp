// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/cuda/primitives/weight_update.hpp"
#include "runtime/kernels/optimizers.hpp"

namespace lockstep::kernels::cuda {

// The numbers of Adam that are the same for all elements.
struct AdamRule {
    struct Update {
        float gradient_scale, shrink;  // w *= shrink: decoupled decay
        float step_size, root_correction2;
        bool skip;
    };

    const StepState* state;
    DecayBits decays;
    double decoupled_decay;
    float l2, rest1, beta2, rest2, epsilon;  // rest = 1 - beta

    // Calculates in double, as in torch.
    __device__ Update prepare() const {
        return {state->gradient_scale,
                static_cast<float>(fma(-double{state->lr}, decoupled_decay, 1.0)),
                state->adam_step_size, state->adam_root_correction2, state->skip != 0};
    }
};

inline AdamRule adam_rule(const AdamOptions& options, const StepState* state,
                          DecayLines<CudaSpace> decays) noexcept {
    const bool decoupled = options.decay == AdamOptions::Decay::decoupled;
    return {state,
            decay_bits(decays),
            decoupled ? options.weight_decay : 0.0,
            decoupled ? 0.0f : static_cast<float>(options.weight_decay),
            static_cast<float>(1.0 - options.beta1),
            static_cast<float>(options.beta2),
            static_cast<float>(1.0 - options.beta2),
            static_cast<float>(options.epsilon)};
}

}  // namespace lockstep::kernels::cuda
