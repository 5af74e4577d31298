// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/gated_activation.hpp"

#include <doctest/doctest.h>

#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/reference/rows_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::Activation;
using kernels::CpuContext;

namespace {

constexpr Activation gates[] = {Activation::silu, Activation::gelu_tanh, Activation::gelu_erf,
                                Activation::relu};
constexpr double gate_range = 6;

}  // namespace

TEST_CASE_TEMPLATE("gated activations match hand-computed values", T, float, bf16) {
    CpuContext ctx(1);
    auto x = numbers<T>({-2, 0, 1, 3, 5, -1, 30, -30, 0, 2, 3, 7});  // two rows of [gate | up]
    auto dy = numbers<T>({1, 1, 1, 2, 2, 2});
    std::vector<T> y(6), dx(12);
    kernels::gated_activation_forward<T>(ctx, Activation::silu, matrix_of(x, 2, 6),
                                         matrix_of(y, 2, 3));
    const Row expected{3 * -0.2384058, 0, -0.7310586, 60, 0, 0};
    for (std::size_t i = 0; i < 6; ++i) CHECK(close(to_double(y[i]), expected[i], dtype_of<T>));
    kernels::gated_activation_backward<T>(ctx, {.f = Activation::silu,
                                                .x = matrix_of(x, 2, 6),
                                                .dy = matrix_of(dy, 2, 3),
                                                .dx = matrix_of(dx, 2, 6)});
    // The slopes of silu at -2, 0, 1, 30, -30 and 0.
    const Row slopes{-0.0907843 * 3, 0.5 * 5, -0.9276706,  -0.2384058, 0, 0.7310586,
                     2 * 2,          0,       2 * 7 * 0.5, 60,         0, 0};
    for (std::size_t i = 0; i < 12; ++i) CHECK(close(to_double(dx[i]), slopes[i], dtype_of<T>));
}

TEST_CASE_TEMPLATE("gated activations match the reference and its derivatives, in place too", T,
                   float, bf16) {
    for (const int threads : {1, 2, 3}) {
        CpuContext ctx(threads);
        for (const std::int64_t n : {1, 31, 32, 33, 1000, 4097})
            for (const Activation f : gates) {
                constexpr std::int64_t rows = 5;
                auto x = random_numbers<T>(rows * 2 * n, 1, gate_range);
                auto dy = random_numbers<T>(rows * n, 2);
                const auto before = x;
                std::vector<T> y(dy.size());
                kernels::gated_activation_forward<T>(ctx, f, matrix_of(x, rows, 2 * n),
                                                     matrix_of(y, rows, n));
                kernels::gated_activation_backward<T>(ctx, {.f = f,
                                                            .x = matrix_of(x, rows, 2 * n),
                                                            .dy = matrix_of(dy, rows, n),
                                                            .dx = matrix_of(x, rows, 2 * n)});
                for (std::int64_t e = 0; e < rows * n; ++e) {
                    const auto i = static_cast<std::size_t>(e);
                    const auto at = static_cast<std::size_t>(e / n * 2 * n + e % n);
                    const auto up_at = at + static_cast<std::size_t>(n);
                    double gate = to_double(before[at]);
                    const double up = to_double(before[up_at]), d = to_double(dy[i]);
                    if (f == Activation::relu && std::abs(gate) < 1e-4) continue;  // the kink
                    const double value = activation_reference(f, gate);
                    const double slope =
                        central_difference(gate, [&] { return activation_reference(f, gate); });
                    constexpr double magnitude = gate_range * gate_range;
                    REQUIRE(close(to_double(y[i]), value * up, dtype_of<T>, 1, magnitude));
                    REQUIRE(close(to_double(x[at]), slope * up * d, dtype_of<T>, 1, magnitude));
                    REQUIRE(close(to_double(x[up_at]), value * d, dtype_of<T>, 1, magnitude));
                }
            }
    }
}
