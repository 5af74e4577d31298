// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/runtime/kernels/optimizer_goldens.hpp"
#include "tests/support/reference/optimizer_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::SgdOptions;
using kernels::StepState;
using Kind = SgdOptions::Kind;

namespace {

template <class T>
void check_golden(const SgdOptions& options, const std::array<double, 12>& golden) {
    CpuContext ctx(1);
    auto w = golden_weight();
    // The first update must not read the buffer.
    std::vector<float> buffer(options.momentum == 0 ? 0 : w.size(), std::nanf(""));
    std::vector<T> compute(w.size());
    run_golden_updates([&](const StepState* state, const std::vector<float>& g) {
        kernels::sgd<T>(ctx, {.options = options,
                              .state = state,
                              .gradient = view_of(g),
                              .master = view_of(w),
                              .momentum_buffer = view_of(buffer),
                              .compute = view_of(compute)});
    });
    check_weights(w, golden, compute);
}

}  // namespace

TEST_CASE_TEMPLATE("sgd follows torch.optim", T, float, bf16) {
    check_golden<T>({0, 0.1f, Kind::plain}, goldens::sgd_plain);
    check_golden<T>({0.9f, 0.1f, Kind::plain}, goldens::sgd_momentum);
    check_golden<T>({0.9f, 0, Kind::nesterov}, goldens::sgd_nesterov);
}

TEST_CASE_TEMPLATE("sgd matches the reference on awkward sizes", T, float, bf16) {
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const std::int64_t n : {1, 31, 32, 33, 1000, 4097, 20001}) {
            for (const Kind kind : {Kind::plain, Kind::nesterov}) {
                const SgdOptions options{0.8f, 0.01f, kind};
                auto w = random_numbers<float>(n, 1);
                std::vector<float> buffer(w.size());
                std::vector<T> compute(w.size());
                std::vector<Element> expected;
                for (const float x : w) expected.push_back({double{x}});
                for (std::uint64_t t = 0; t < 3; ++t) {
                    const StepState state{.updates = t, .lr = 0.1f, .gradient_scale = 0.5f};
                    const auto g = random_numbers<float>(n, 10 + t);
                    kernels::sgd<T>(ctx, {.options = options,
                                          .state = &state,
                                          .gradient = view_of(g),
                                          .master = view_of(w),
                                          .momentum_buffer = view_of(buffer),
                                          .compute = view_of(compute)});
                    for (std::size_t i = 0; i < g.size(); ++i)
                        sgd_reference(options, state, double{g[i]}, expected[i]);
                }
                for (std::size_t i = 0; i < w.size(); ++i) {
                    REQUIRE(close(double{w[i]}, expected[i].w, Dtype::fp32));
                    REQUIRE(to_double(compute[i]) == to_double(static_cast<T>(w[i])));
                }
            }
        }
    }
}

TEST_CASE("sgd's decay stops at its lines, and changes no other bit") {
    const SgdOptions options{0.8f, 0.5f, Kind::plain}, without{0.8f, 0, Kind::plain};
    const StepState state{.updates = 1, .lr = 0.1f, .gradient_scale = 0.5f};
    CpuContext ctx(2);
    for (const std::int64_t n : {1, 16, 17, 513, 4097, 20001}) {
        const auto lines = awkward_decays(n);
        const auto g = random_numbers<float>(n, 10);
        auto w = random_numbers<float>(n, 1), expected = w;
        auto b = random_numbers<float>(n, 2), b2 = b;
        kernels::sgd<float>(ctx, {.options = options,
                                  .state = &state,
                                  .gradient = view_of(g),
                                  .master = view_of(w),
                                  .momentum_buffer = view_of(b),
                                  .decays = view_of(lines)});
        for_each_line(lines, w.size(), [&](std::size_t first, std::size_t size, bool decays) {
            const auto part = [&](auto& of) { return view_of(of).subview(first, size); };
            kernels::sgd<float>(ctx, {.options = decays ? options : without,
                                      .state = &state,
                                      .gradient = part(g),
                                      .master = part(expected),
                                      .momentum_buffer = part(b2)});
        });
        CHECK(w == expected);
        CHECK(b == b2);
    }
}

TEST_CASE("sgd with momentum refuses to go without its buffer") {
    CpuContext ctx(1);
    std::vector<float> w(4);
    const StepState state;
    CHECK_THROWS_AS(kernels::sgd<float>(ctx, {.options = {0.9f, 0, Kind::plain},
                                              .state = &state,
                                              .gradient = const_view_of(w),
                                              .master = view_of(w)}),
                    Error);
}
