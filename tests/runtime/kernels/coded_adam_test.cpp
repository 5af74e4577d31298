// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/coded_adam_case.hpp"
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/support/reference/optimizer_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::AdamOptions;
using kernels::CpuContext;
using kernels::DynamicMap;
using kernels::StepState;
using Decay = AdamOptions::Decay;

namespace {

// The weights and moments of one run of the kernel.
template <class T>
struct Run {
    explicit Run(std::vector<float> weights)
        : w(std::move(weights)),
          compute(w.size()),
          m(w.size(), DynamicMap::with_sign),
          v(w.size(), DynamicMap::without_sign) {}

    void update(CpuContext& ctx, const AdamOptions& options, const StepState& state,
                const std::vector<float>& g, const std::vector<std::uint32_t>& decays = {}) {
        kernels::coded_adam<T>(ctx, {.options = options,
                                     .state = &state,
                                     .gradient = view_of(g),
                                     .master = view_of(w),
                                     .first_moment = m.view(),
                                     .second_moment = v.view(),
                                     .compute = view_of(compute),
                                     .decays = view_of(decays)});
    }

    std::vector<float> w;
    std::vector<T> compute;
    HostMoment m, v;
};

}  // namespace

TEST_CASE("coded_adam: one update by hand, and what it keeps of the moments") {
    CpuContext ctx(1);
    Run<bf16> run({1, 1, 1});
    const AdamOptions options{0.5, 0.75, 0, 0, Decay::l2};
    run.update(ctx, options, for_adam(options, {.lr = 0.5f}), {4, -8, 0.5f});
    // The first update has length lr, whatever the gradient: m = g / 2, v = g^2 / 4, corrected.
    CHECK(run.w == std::vector<float>{0.5f, 1.5f, 0.5f});
    CHECK(to_doubles(run.compute) == std::vector<double>{0.5, 1.5, 0.5});
    CHECK(run.m.scales == std::vector<float>{4});
    CHECK(run.v.scales == std::vector<float>{16});
    // Shares of 4: 0.5, -1 and 0.0625; of 16: 0.25, 1 and 1 / 256.
    CHECK(run.m.codes == std::vector<std::uint8_t>{219, 0, 127 + 32 + 18});
    CHECK(run.v.codes == std::vector<std::uint8_t>{128 + 21 - 1, 255, 32 + 10 - 1});
}

TEST_CASE_TEMPLATE("coded_adam matches the reference on awkward sizes", T, float, bf16) {
    const AdamOptions options{0.9, 0.98, 1e-6, 0.01, Decay::decoupled};
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const std::int64_t n : {1, 31, 255, 256, 257, 1000, 4097, 20001}) {
            Run<T> run(random_numbers<float>(n, 1));
            for (std::uint64_t t = 0; t < 3; ++t) {
                const StepState state =
                    for_adam(options, {.updates = t, .lr = 0.01f, .gradient_scale = 0.5f});
                const auto g = random_numbers<float>(n, 10 + t, 3.0 - static_cast<double>(t));
                const auto before = run.w;
                auto m = run.m.decoded(), v = run.v.decoded();
                run.update(ctx, options, state, g);
                for (std::size_t i = 0; i < g.size(); ++i) {
                    Element expected{double{before[i]}, double{m[i]}, double{v[i]}};
                    adam_reference(options, Bound::none, state, double{g[i]}, expected);
                    m[i] = static_cast<float>(expected.m);
                    v[i] = static_cast<float>(expected.v);
                    REQUIRE(close(double{run.w[i]}, expected.w, Dtype::fp32));
                    REQUIRE(to_double(run.compute[i]) == to_double(static_cast<T>(run.w[i])));
                }
                require_coded(run.m, m);
                require_coded(run.v, v);
            }
        }
    }
}

TEST_CASE_TEMPLATE("coded_adam's decay stops at its lines, and a range changes no bit", T, float,
                   bf16) {
    for (const Decay decay : {Decay::l2, Decay::decoupled}) {
        const AdamOptions options{0.9, 0.98, 1e-6, 0.5, decay};
        const AdamOptions without{0.9, 0.98, 1e-6, 0, decay};
        const StepState state = for_adam(options, {.lr = 0.01f, .gradient_scale = 0.5f});
        CpuContext ctx(2);
        constexpr std::int64_t n = 20001;
        const auto lines = awkward_decays(n);
        const auto g = random_numbers<float>(n, 10);
        Run<T> run(random_numbers<float>(n, 1)), all = run, none = run;
        run.update(ctx, options, state, g, lines);
        all.update(ctx, options, state, g);
        none.update(ctx, without, state, g);
        for_each_line(lines, run.w.size(), [&](std::size_t first, std::size_t size, bool decays) {
            for (std::size_t i = first; i < first + size; ++i)
                REQUIRE(run.w[i] == (decays ? all.w[i] : none.w[i]));
        });
        // Cells that are updated alone, as by the owner of a part, have the same bits.
        Run<T> part(std::vector<float>(all.w.size()));
        part.w = random_numbers<float>(n, 1);
        for (const auto& [first, size] : {std::pair{0, 512}, {512, 256}, {768, n - 768}}) {
            const auto at = static_cast<std::size_t>(first), count = static_cast<std::size_t>(size);
            const auto of = [&](HostMoment& moment) {
                return kernels::CodedMoment<HostSpace>{
                    view_of(moment.codes).subview(at, count),
                    view_of(moment.scales).subview(at / 256, kernels::moment_scales(count))};
            };
            kernels::coded_adam<T>(ctx, {.options = options,
                                         .state = &state,
                                         .gradient = const_view_of(g).subview(at, count),
                                         .master = view_of(part.w).subview(at, count),
                                         .first_moment = of(part.m),
                                         .second_moment = of(part.v),
                                         .compute = view_of(part.compute).subview(at, count)});
        }
        CHECK(part.w == all.w);
        CHECK(part.m.codes == all.m.codes);
        CHECK(part.v.scales == all.v.scales);
    }
}

TEST_CASE("coded_adam changes nothing when told to skip, and refuses other sizes") {
    CpuContext ctx(1);
    const AdamOptions options{0.9, 0.98, 1e-6, 0, Decay::l2};
    Run<float> run({1, 2});
    StepState state = for_adam(options, {.lr = 1});
    state.skip = 1;
    run.update(ctx, options, state, {3, 4});
    CHECK(run.w == std::vector<float>{1, 2});
    CHECK(run.m.codes == std::vector<std::uint8_t>{127, 127});
    state.skip = 0;
    run.m.scales.clear();
    CHECK_THROWS_AS(run.update(ctx, options, state, {3, 4}), Error);
}
