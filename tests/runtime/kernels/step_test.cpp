// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/step.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/kernels/step_logic.hpp"

using namespace lockstep;
using kernels::LossScaling;
using kernels::Step;
using kernels::StepOutcome;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr LossScaling parlai{LossScaling::Kind::dynamic, 0x1p15f, 0x1p-5f};

// Takes a step of two micro-batches with 8 tokens and a gradient of norm 6 * loss_seed * tokens.
Step taken(kernels::CpuContext& ctx, Step step, const kernels::StepRules& rules, double loss = 4) {
    begin_step(ctx, {7, 3, step.state.updates, {0.5f, 0.25f, 0.125f}}, &step);
    for (int i = 0; i < 2; ++i) {
        step.batch += {loss, 3, 4, 1};
        end_micro_batch(ctx, &step);
    }
    step.squares.add(std::pow(6 * 8 * static_cast<double>(step.state.loss_seed), 2));
    finish_step(ctx, rules, &step);
    return step;
}

}  // namespace

TEST_CASE("a step sums its micro-batches, and its gradient is divided by tokens and seed") {
    kernels::CpuContext ctx(1);
    Step before;
    before.tokens = 11;  // 8 is nearer than 16
    const Step step = taken(ctx, before, {});
    CHECK(step.sums.losses.loss == 8);
    CHECK(step.sums.losses.nll == 6);
    CHECK(step.sums.losses.tokens == 8);
    CHECK(step.sums.losses.correct == 2);
    CHECK(step.outcome == StepOutcome::updated);
    CHECK(step.tokens == 8);
    CHECK(step.gradient_norm == 6);
    CHECK(step.clip == 1);
    CHECK(step.state.seed == 7);
    CHECK(step.state.step == 3);
    CHECK(step.state.loss_seed == 0.125f);
    CHECK(step.state.gradient_scale == 1.0f);
    CHECK(step.state.skip == 0);
    CHECK(taken(ctx, before, {1.5, {}}).clip == doctest::Approx(0.25));
    CHECK(taken(ctx, before, {1.5, {}}).state.gradient_scale == doctest::Approx(0.25));
}

TEST_CASE("a step finds adam's bias corrections of its update") {
    kernels::CpuContext ctx(1);
    const kernels::StepRules rules{0, {}, 0.9, 0.98};
    Step step = taken(ctx, {}, rules);
    CHECK(step.state.adam_step_size == doctest::Approx(0.5 / (1 - 0.9)));
    CHECK(step.state.adam_root_correction2 == doctest::Approx(std::sqrt(1 - 0.98)));
    step = taken(ctx, taken(ctx, step, rules), rules);
    REQUIRE(step.state.updates == 2);
    CHECK(step.state.adam_step_size == doctest::Approx(0.25 / (1 - 0.9 * 0.9 * 0.9)));
    CHECK(step.state.adam_root_correction2 == doctest::Approx(std::sqrt(1 - 0.98 * 0.98 * 0.98)));
}

TEST_CASE("only an update moves the update count, and with it the learning rate") {
    kernels::CpuContext ctx(1);
    Step first = taken(ctx, {}, {});
    CHECK(first.state.updates == 0);  // this is update 1; the next step counts it
    CHECK(first.state.lr == 0.5f);
    const kernels::StepOrder order{7, 4, 0, {0.5f, 0.25f, 0.125f}};
    begin_step(ctx, order, &first);
    CHECK(first.state.updates == 1);
    CHECK(first.state.lr == 0.25f);
    first.squares.add(std::nan(""));
    first.sums.losses.tokens = 8;
    finish_step(ctx, {}, &first);
    CHECK(first.outcome == StepOutcome::not_finite);
    CHECK(first.state.skip == 1);
    begin_step(ctx, order, &first);
    CHECK(first.state.updates == 1);
    finish_step(ctx, {}, &first);
    CHECK(first.outcome == StepOutcome::no_tokens);
    CHECK(first.state.skip == 1);
    begin_step(ctx, order, &first);
    CHECK(first.state.updates == 1);
}

TEST_CASE("the power of two nearest to the tokens seeds backward") {
    using kernels::step_logic::nearest_power_of_two;
    for (std::int64_t tokens = 1; tokens < 200'000; ++tokens)
        REQUIRE(nearest_power_of_two(tokens) ==
                std::exp2(std::round(std::log2(static_cast<double>(tokens)))));
    CHECK(nearest_power_of_two(std::int64_t{1} << 40) == 0x1p40);
}

TEST_CASE("an overflow of the loss or the gradient halves the scale and skips the step") {
    kernels::CpuContext ctx(1);
    const kernels::StepRules rules{0, parlai};
    Step step;
    step.scale.value = parlai.first;
    step = taken(ctx, step, rules);
    CHECK(step.state.loss_seed == 0x1p15f);  // N0 is 1
    CHECK(step.gradient_norm == 6);
    step = taken(ctx, step, rules, infinity);
    CHECK(step.outcome == StepOutcome::not_finite);
    CHECK(step.sums.nonfinite_losses == 2);
    CHECK(step.scale.value == 0x1p14f);
    begin_step(ctx, {}, &step);
    CHECK(step.state.loss_seed == 0x1p11f);  // 8 tokens
    step.sums.losses.tokens = 8;
    step.squares.add(infinity);
    finish_step(ctx, rules, &step);
    CHECK(step.scale.value == 0x1p13f);
    step = taken(ctx, step, {0, {}}, infinity);
    CHECK(step.scale.value == 0x1p13f);  // a fixed scale stays
}
