// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/runtime/kernels/optimizer_goldens.hpp"
#include "tests/support/reference/optimizer_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::AdamOptions;
using kernels::CpuContext;
using kernels::StepState;
using Decay = AdamOptions::Decay;

namespace {

template <class T>
void check_golden(const AdamOptions& options, Bound bound, const std::array<double, 12>& golden) {
    CpuContext ctx(1);
    auto w = golden_weight();
    std::vector<float> m(w.size()), v(w.size()), largest(bound == Bound::amsgrad ? w.size() : 0);
    std::vector<T> compute(w.size());
    run_golden_updates([&](const StepState* state, const std::vector<float>& g) {
        const StepState corrected = for_adam(options, *state);
        kernels::adam<T>(ctx, {.options = options,
                               .state = &corrected,
                               .gradient = view_of(g),
                               .master = view_of(w),
                               .first_moment = view_of(m),
                               .second_moment = view_of(v),
                               .largest = view_of(largest),
                               .compute = view_of(compute)});
    });
    check_weights(w, golden, compute);
}

}  // namespace

TEST_CASE_TEMPLATE("adam follows torch.optim", T, float, bf16) {
    check_golden<T>({0.9, 0.98, 1e-6, 0.1, Decay::l2}, Bound::none, goldens::adam_l2);
    check_golden<T>({0.5, 0.6, 1e-8, 0, Decay::l2}, Bound::amsgrad, goldens::adam_amsgrad);
    check_golden<T>({0.9, 0.999, 1e-8, 0.1, Decay::decoupled}, Bound::none, goldens::adamw);
}

TEST_CASE_TEMPLATE("adam matches the reference on awkward sizes", T, float, bf16) {
    const AdamOptions options{0.9, 0.98, 1e-6, 0.01, Decay::decoupled};
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const std::int64_t n : {1, 31, 32, 33, 1000, 4097, 20001}) {
            for (const Bound bound : {Bound::none, Bound::amsgrad}) {
                auto w = random_numbers<float>(n, 1);
                std::vector<float> m(w.size()), v(w.size());
                std::vector<float> largest(bound == Bound::amsgrad ? w.size() : 0);
                std::vector<T> compute(w.size());
                std::vector<Element> expected;
                for (const float x : w) expected.push_back({double{x}});
                for (std::uint64_t t = 0; t < 3; ++t) {
                    const StepState state =
                        for_adam(options, {.updates = t, .lr = 0.01f, .gradient_scale = 0.5f});
                    const auto g = random_numbers<float>(n, 10 + t, 3.0 - static_cast<double>(t));
                    kernels::adam<T>(ctx, {.options = options,
                                           .state = &state,
                                           .gradient = view_of(g),
                                           .master = view_of(w),
                                           .first_moment = view_of(m),
                                           .second_moment = view_of(v),
                                           .largest = view_of(largest),
                                           .compute = view_of(compute)});
                    for (std::size_t i = 0; i < g.size(); ++i)
                        adam_reference(options, bound, state, double{g[i]}, expected[i]);
                }
                for (std::size_t i = 0; i < w.size(); ++i) {
                    REQUIRE(close(double{w[i]}, expected[i].w, Dtype::fp32));
                    REQUIRE(to_double(compute[i]) == to_double(static_cast<T>(w[i])));
                }
            }
        }
    }
}

TEST_CASE_TEMPLATE("adam's decay stops at its lines, and changes no other bit", T, float, bf16) {
    for (const Decay decay : {Decay::l2, Decay::decoupled}) {
        const AdamOptions options{0.9, 0.98, 1e-6, 0.5, decay}, without{0.9, 0.98, 1e-6, 0, decay};
        const StepState state = for_adam(options, {.lr = 0.01f, .gradient_scale = 0.5f});
        CpuContext ctx(2);
        for (const std::int64_t n : {1, 16, 17, 513, 4097, 20001}) {
            const auto lines = awkward_decays(n);
            const auto g = random_numbers<float>(n, 10);
            auto w = random_numbers<float>(n, 1), expected = w;
            std::vector<float> m(w.size()), v(w.size()), m2 = m, v2 = v;
            std::vector<T> compute(w.size()), compute2(w.size());
            kernels::adam<T>(ctx, {.options = options,
                                   .state = &state,
                                   .gradient = view_of(g),
                                   .master = view_of(w),
                                   .first_moment = view_of(m),
                                   .second_moment = view_of(v),
                                   .compute = view_of(compute),
                                   .decays = view_of(lines)});
            for_each_line(lines, w.size(), [&](std::size_t first, std::size_t size, bool decays) {
                const auto part = [&](auto& of) { return view_of(of).subview(first, size); };
                kernels::adam<T>(ctx, {.options = decays ? options : without,
                                       .state = &state,
                                       .gradient = part(g),
                                       .master = part(expected),
                                       .first_moment = part(m2),
                                       .second_moment = part(v2),
                                       .compute = part(compute2)});
            });
            CHECK(w == expected);
            CHECK(m == m2);
            CHECK(v == v2);
        }
    }
}

TEST_CASE("adam refuses moments and lines of another size") {
    CpuContext ctx(1);
    std::vector<float> w(4), v(3);
    const std::vector<std::uint32_t> too_many(2);
    const StepState state;
    CHECK_THROWS_AS(kernels::adam<float>(ctx, {.options = {0.9, 0.999, 1e-8, 0, Decay::l2},
                                               .state = &state,
                                               .gradient = const_view_of(w),
                                               .master = view_of(w),
                                               .first_moment = view_of(w),
                                               .second_moment = view_of(v)}),
                    Error);
    CHECK_THROWS_AS(kernels::adam<float>(ctx, {.options = {0.9, 0.999, 1e-8, 0, Decay::l2},
                                               .state = &state,
                                               .gradient = const_view_of(w),
                                               .master = view_of(w),
                                               .first_moment = view_of(w),
                                               .second_moment = view_of(w),
                                               .decays = view_of(too_many)}),
                    Error);
}
