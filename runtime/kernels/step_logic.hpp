// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernels/step.hpp"

// This namespace holds the arithmetic of the kernels of step.hpp, shared by both devices.
namespace lockstep::kernels::step_logic {

constexpr bool finite(double x) noexcept { return x - x == 0; }

// Rounds by logarithm, so the border is 2^(n + 1/2). The direction at the border does not matter.
constexpr double nearest_power_of_two(std::int64_t tokens) noexcept {
    const auto t = static_cast<std::uint64_t>(tokens);
    int n = 0;
    while (n < 62 && t >> (n + 1) != 0) ++n;
    double power = 1;
    for (int i = 0; i < n; ++i) power *= 2;
    const double share = static_cast<double>(tokens) / power;  // exact: in [1, 2)
    return share * share > 2 ? 2 * power : power;
}

constexpr void begin(const StepOrder& order, Step& step) noexcept {
    constexpr std::uint64_t rates = sizeof order.rates / sizeof order.rates[0];
    StepState& state = step.state;
    if (step.outcome == StepOutcome::updated) ++state.updates;
    step.outcome = StepOutcome::no_tokens;
    state.seed = order.seed;
    state.step = order.step;
    const std::uint64_t ahead = state.updates - order.first_update;
    state.lr = order.rates[ahead < rates ? ahead : rates - 1];
    state.loss_seed = static_cast<float>(static_cast<double>(step.scale.value) /
                                         nearest_power_of_two(step.tokens));
    state.skip = 0;
    step.batch = {};
    step.sums = {};
    step.squares = {};
}

constexpr void end_micro_batch(Step& step) noexcept {
    step.sums.losses += step.batch;
    if (!finite(step.batch.loss)) step.sums.nonfinite_losses += 1;
    step.batch = {};
}

// Each device calculates these with its own math functions.
struct StepFunctions {
    double root;                           // of step.squares
    double correction1, root_correction2;  // 1 - beta1^t, sqrt(1 - beta2^t)
};

constexpr double update_number(const Step& step) noexcept {
    return static_cast<double>(step.state.updates + 1);
}

constexpr void finish(const StepRules& rules, const StepFunctions& of, Step& step) noexcept {
    StepState& state = step.state;
    const double tokens = step.sums.losses.tokens, seed = static_cast<double>(state.loss_seed);
    const bool overflow = step.sums.nonfinite_losses > 0 || !finite(of.root);
    step.gradient_norm = of.root / (seed * (tokens > 1 ? tokens : 1));
    step.outcome = overflow     ? StepOutcome::not_finite
                   : tokens > 0 ? StepOutcome::updated
                                : StepOutcome::no_tokens;
    state.skip = step.outcome == StepOutcome::updated ? 0 : 1;
    step.tokens = tokens > 1 ? static_cast<std::int64_t>(tokens) : 1;  // a sum of whole numbers
    if (step.outcome != StepOutcome::no_tokens)
        step.scale = next(step.scale, rules.scaling, overflow ? Overflow::yes : Overflow::no);
    step.clip = 1;
    if (state.skip != 0) return;
    // This follows torch's clip_grad_norm_.
    const double clip = rules.gradient_clip / (step.gradient_norm + 1e-6);
    if (rules.gradient_clip > 0 && clip < 1) step.clip = clip;
    state.gradient_scale = static_cast<float>(step.clip / (seed * tokens));
    // Double precision, as in torch.
    state.adam_step_size = static_cast<float>(double{state.lr} / of.correction1);
    state.adam_root_correction2 = static_cast<float>(of.root_correction2);
}

}  // namespace lockstep::kernels::step_logic
