// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/runtime/kernels/optimizer_goldens.hpp"
#include "tests/support/reference/optimizer_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::LionOptions;
using kernels::StepState;

namespace {

template <class T>
void check_golden(const LionOptions& options, const std::array<double, 12>& golden) {
    CpuContext ctx(1);
    auto w = golden_weight();
    std::vector<float> m(w.size());
    std::vector<T> compute(w.size());
    run_golden_updates([&](const StepState* state, const std::vector<float>& g) {
        kernels::lion<T>(ctx, {.options = options,
                               .state = state,
                               .gradient = view_of(g),
                               .master = view_of(w),
                               .moment = view_of(m),
                               .compute = view_of(compute)});
    });
    check_weights(w, golden, compute);
}

}  // namespace

TEST_CASE_TEMPLATE("lion follows the formula of its paper", T, float, bf16) {
    check_golden<T>({0.9, 0.99, 0.1}, goldens::lion);
    check_golden<T>({0.95, 0.5, 0}, goldens::lion_betas);
}

TEST_CASE("lion's step has one length, is 0 where nothing moved, and keeps NaN") {
    CpuContext ctx(1);
    const float nan = std::nanf("");
    std::vector<float> w(5, 2.0f), m{0, 0, 0, 4, 0};
    // The moment of the fourth element outweighs its gradient: 0.75 * 4 - 0.25 * 8 > 0.
    const std::vector<float> g{8, -1e-30f, 0, -8, nan};
    const StepState state{.lr = 0.5f, .gradient_scale = 1};
    kernels::lion<float>(ctx, {.options = {0.75, 0.25, 0.5},
                               .state = &state,
                               .gradient = view_of(g),
                               .master = view_of(w),
                               .moment = view_of(m)});
    // Decay takes 0.5 * 0.5 * 2 of each weight.
    CHECK(std::vector(w.begin(), w.end() - 1) == std::vector<float>{1, 2, 1.5f, 1});
    CHECK(std::vector(m.begin(), m.end() - 1) == std::vector<float>{6, -0.75f * 1e-30f, 0, -5});
    CHECK(std::isnan(w.back()));
    CHECK(std::isnan(m.back()));
}

TEST_CASE_TEMPLATE("lion matches the reference on awkward sizes", T, float, bf16) {
    const LionOptions options{0.9, 0.98, 0.5};
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const std::int64_t n : {1, 31, 32, 33, 1000, 4097, 20001}) {
            auto w = random_numbers<float>(n, 1);
            std::vector<float> m(w.size());
            std::vector<T> compute(w.size());
            std::vector<Element> expected;
            for (const float x : w) expected.push_back({double{x}});
            for (std::uint64_t t = 0; t < 3; ++t) {
                const StepState state{.updates = t, .lr = 0.01f, .gradient_scale = 0.5f};
                const auto g = random_numbers<float>(n, 10 + t, 3.0 - static_cast<double>(t));
                kernels::lion<T>(ctx, {.options = options,
                                       .state = &state,
                                       .gradient = view_of(g),
                                       .master = view_of(w),
                                       .moment = view_of(m),
                                       .compute = view_of(compute)});
                for (std::size_t i = 0; i < g.size(); ++i)
                    lion_reference(options, state, double{g[i]}, expected[i]);
            }
            for (std::size_t i = 0; i < w.size(); ++i) {
                REQUIRE(close(double{w[i]}, expected[i].w, Dtype::fp32));
                REQUIRE(close(double{m[i]}, expected[i].m, Dtype::fp32));
                REQUIRE(to_double(compute[i]) == to_double(static_cast<T>(w[i])));
            }
        }
    }
}

TEST_CASE_TEMPLATE("lion's decay stops at its lines, and changes no other bit", T, float, bf16) {
    const LionOptions options{0.9, 0.98, 0.5}, without{0.9, 0.98, 0};
    const StepState state{.lr = 0.01f, .gradient_scale = 0.5f};
    CpuContext ctx(2);
    for (const std::int64_t n : {1, 16, 17, 513, 4097, 20001}) {
        const auto lines = awkward_decays(n);
        const auto g = random_numbers<float>(n, 10);
        auto w = random_numbers<float>(n, 1), expected = w;
        auto m = random_numbers<float>(n, 2), m2 = m;
        std::vector<T> compute(w.size()), compute2(w.size());
        kernels::lion<T>(ctx, {.options = options,
                               .state = &state,
                               .gradient = view_of(g),
                               .master = view_of(w),
                               .moment = view_of(m),
                               .compute = view_of(compute),
                               .decays = view_of(lines)});
        for_each_line(lines, w.size(), [&](std::size_t first, std::size_t size, bool decays) {
            const auto part = [&](auto& of) { return view_of(of).subview(first, size); };
            kernels::lion<T>(ctx, {.options = decays ? options : without,
                                   .state = &state,
                                   .gradient = part(g),
                                   .master = part(expected),
                                   .moment = part(m2),
                                   .compute = part(compute2)});
        });
        CHECK(w == expected);
        CHECK(m == m2);
    }
}
