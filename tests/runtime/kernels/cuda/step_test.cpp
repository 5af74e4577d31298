// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/step.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CudaContext;
using kernels::LossScaling;
using kernels::Step;

namespace {

// Takes one of several steps: every fourth overflows, one has no tokens.
template <class Ctx>
void take(Ctx& ctx, const kernels::StepRules& rules, std::uint64_t number, Step* step,
          const std::function<void(const std::function<void(Step&)>&)>& change) {
    begin_step(ctx, {5, number, number > 2 ? number - 2 : 0, {0.5f, 0.25f, 0.125f}}, step);
    for (int i = 0; i < 3; ++i) {
        const double tokens = number == 3 ? 0 : 37.0 + i;
        change([&](Step& s) { s.batch = {1.5 * i, 1.25, tokens, 3}; });
        end_micro_batch(ctx, step);
    }
    change([&](Step& s) {
        s.squares.add(number % 4 == 1 ? std::nan("") : 11.0 * static_cast<double>(number + 1));
    });
    finish_step(ctx, rules, step);
}

}  // namespace

TEST_CASE("CUDA's steps are the CPU's to the last bit, but for adam's corrections") {
    CudaContext ctx(0);
    kernels::CpuContext cpu(1);
    kernels::StepRules rules{0.4, {LossScaling::Kind::dynamic, 0x1p15f, 0x1p-5f}, 0.9, 0.98};
    rules.scaling.window = 3;
    Step first{};
    first.scale.value = rules.scaling.first;
    Step expected = first;
    const device::Buffer<Step, CudaSpace> step(1);
    device::copy(ctx, HostView<const Step>(&first, 1), step.view());
    const auto read = [&] {
        Step values{};
        device::copy(ctx, CudaView<const Step>(step.view()), HostView<Step>(&values, 1));
        ctx.synchronize();
        return values;
    };
    for (std::uint64_t number = 0; number < 12; ++number) {
        CAPTURE(number);
        take(cpu, rules, number, &expected, [&](const auto& change) { change(expected); });
        take(ctx, rules, number, step.view().data(), [&](const auto& change) {
            Step values = read();
            change(values);
            device::copy(ctx, HostView<const Step>(&values, 1), step.view());
            ctx.synchronize();
        });
        const Step actual = read();
        CHECK(actual.outcome == expected.outcome);
        CHECK(actual.state.updates == expected.state.updates);
        CHECK(actual.state.lr == expected.state.lr);
        CHECK(actual.state.loss_seed == expected.state.loss_seed);
        CHECK(actual.state.gradient_scale == expected.state.gradient_scale);
        CHECK(actual.state.skip == expected.state.skip);
        // The functions on the two devices may differ in their last bits.
        CHECK(actual.state.adam_step_size ==
              doctest::Approx(expected.state.adam_step_size).epsilon(1e-6));
        CHECK(actual.state.adam_root_correction2 ==
              doctest::Approx(expected.state.adam_root_correction2).epsilon(1e-6));
        CHECK(actual.sums.losses.loss == expected.sums.losses.loss);
        CHECK(actual.tokens == expected.tokens);
        CHECK(actual.clip == expected.clip);
        CHECK(actual.scale.value == expected.scale.value);
        if (!std::isnan(expected.gradient_norm))
            CHECK(actual.gradient_norm == expected.gradient_norm);
    }
    CHECK(expected.scale.value < rules.scaling.first);
    CHECK(expected.state.updates == 7);
}
