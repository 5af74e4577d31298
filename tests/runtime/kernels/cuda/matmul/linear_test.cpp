// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CudaContext;

namespace {

struct Size {
    std::int64_t rows, in, out;
};
constexpr Size sizes[] = {{1, 1, 1}, {3, 8, 16}, {33, 17, 9}, {64, 40, 24}, {70, 130, 65}};

// The columns [8, 8 + cols) of a matrix that is wider by 16 columns.
template <class T>
struct Strided {
    Strided(CudaContext& ctx, std::int64_t rows, std::int64_t columns, std::uint64_t key)
        : cols(columns),
          before(random_numbers<T>(rows * (columns + 16), key)),
          device(ctx, before),
          view(device.matrix(rows, columns + 16).columns(8, columns)) {}

    std::size_t place(std::int64_t i, std::int64_t j) const {
        return static_cast<std::size_t>(i * (cols + 16) + 8 + j);
    }
    double at(std::int64_t i, std::int64_t j) const { return to_double(before[place(i, j)]); }

    std::int64_t cols;
    std::vector<T> before;
    OnDevice<T> device;
    CudaMatrix<T> view;
};

// Checks that c's elements are `expected`, and that the elements beside them have not changed.
template <class T, class Expected>
void check_matrix(const Strided<T>& c, std::int64_t inner, const Expected& expected) {
    const auto after = c.device.values();
    auto untouched = after;
    // fp32 factors may be rounded to TF32's 10 bits.
    const double step = std::is_same_v<T, bf16> ? 1.0 / 128 : 1.0 / 512;
    const double tolerance = step * (1 + std::sqrt(static_cast<double>(inner)));
    for (std::int64_t i = 0; i < c.view.rows; ++i)
        for (std::int64_t j = 0; j < c.view.cols; ++j) {
            REQUIRE(std::abs(to_double(after[c.place(i, j)]) - expected(i, j)) <= tolerance);
            untouched[c.place(i, j)] = c.before[c.place(i, j)];
        }
    CHECK(same_bits(untouched, c.before));
}

}  // namespace

TEST_CASE_TEMPLATE("CUDA's linear matches hand-computed values", T, float, bf16, fp16) {
    CudaContext ctx(0);
    const OnDevice x(ctx, numbers<T>({1, 2, 3, 4})), w(ctx, numbers<T>({1, 0, 0, 1, 1, 1}));
    const OnDevice bias(ctx, numbers<T>({10, 20, 30})), dy(ctx, numbers<T>({1, 0, 2, 0, 1, 1}));
    const OnDevice y(ctx, unwritten<T>(6)), dx(ctx, unwritten<T>(4));
    const OnDevice dw(ctx, std::vector<float>(6, 1.0f));

    kernels::linear_forward<T>(ctx, x.matrix(2, 2), w.matrix(3, 2), bias.view(), y.matrix(2, 3));
    CHECK(to_doubles(y.values()) == std::vector<double>{11, 22, 33, 13, 24, 37});
    kernels::linear_backward_input<T>(ctx, dy.matrix(2, 3), w.matrix(3, 2), dx.matrix(2, 2),
                                      kernels::Into::overwrite);
    CHECK(to_doubles(dx.values()) == std::vector<double>{3, 2, 1, 2});
    kernels::linear_backward_input<T>(ctx, dy.matrix(2, 3), w.matrix(3, 2), dx.matrix(2, 2),
                                      kernels::Into::add);
    CHECK(to_doubles(dx.values()) == std::vector<double>{6, 4, 2, 4});
    kernels::linear_backward_weight<T>(ctx, x.matrix(2, 2), dy.matrix(2, 3), dw.matrix(3, 2),
                                       kernels::Into::add);
    CHECK(to_doubles(dw.values()) == std::vector<double>{2, 3, 4, 5, 6, 9});
    const OnDevice dw_alone(ctx, unwritten<float>(6));
    kernels::linear_backward_weight<T>(ctx, x.matrix(2, 2), dy.matrix(2, 3), dw_alone.matrix(3, 2),
                                       kernels::Into::overwrite);
    CHECK(to_doubles(dw_alone.values()) == std::vector<double>{1, 2, 3, 4, 5, 8});
}

TEST_CASE_TEMPLATE("CUDA's linear is right for slices of awkward sizes", T, float, bf16, fp16) {
    CudaContext ctx(0);
    for (const auto [rows, in, out] : sizes) {
        const Strided<T> x(ctx, rows, in, 1), w(ctx, out, in, 2), dy(ctx, rows, out, 3);
        const Strided<T> y(ctx, rows, out, 4), dx(ctx, rows, in, 5), more(ctx, rows, in, 6);
        const Strided<float> dw(ctx, out, in, 7);
        const auto bias = random_numbers<T>(out, 8);
        const OnDevice bias_there(ctx, bias);
        const auto sum = [](std::int64_t count, const auto& term) {
            double total = 0;
            for (std::int64_t k = 0; k < count; ++k) total += term(k);
            return total;
        };

        kernels::linear_forward<T>(ctx, x.view, w.view, bias_there.view(), y.view);
        check_matrix(y, in, [&](auto i, auto j) {
            return to_double(bias[static_cast<std::size_t>(j)]) +
                   sum(in, [&](auto k) { return x.at(i, k) * w.at(j, k); });
        });
        const auto dx_at = [&](auto i, auto j) {
            return sum(out, [&](auto k) { return dy.at(i, k) * w.at(k, j); });
        };
        kernels::linear_backward_input<T>(ctx, dy.view, w.view, dx.view, kernels::Into::overwrite);
        check_matrix(dx, out, dx_at);
        kernels::linear_backward_input<T>(ctx, dy.view, w.view, more.view, kernels::Into::add);
        check_matrix(more, out, [&](auto i, auto j) { return more.at(i, j) + dx_at(i, j); });
        kernels::linear_backward_weight<T>(ctx, x.view, dy.view, dw.view, kernels::Into::add);
        check_matrix(dw, rows, [&](auto i, auto j) {
            return dw.at(i, j) + sum(rows, [&](auto k) { return dy.at(k, i) * x.at(k, j); });
        });
    }
}

TEST_CASE("CUDA's linear of no rows computes nothing, and the weight's gradient is zero") {
    CudaContext ctx(0);
    const OnDevice w(ctx, numbers<float>({1, 2})), dw(ctx, numbers<float>({3, 4}));
    const CudaMatrix<float> none(nullptr, 0, 2), one(nullptr, 0, 1);
    kernels::linear_forward<float>(ctx, none, w.matrix(1, 2), {}, one);
    kernels::linear_backward_weight<float>(ctx, none, one, dw.matrix(1, 2), kernels::Into::add);
    CHECK(dw.values() == std::vector<float>{3, 4});
    kernels::linear_backward_weight<float>(ctx, none, one, dw.matrix(1, 2),
                                           kernels::Into::overwrite);
    CHECK(dw.values() == std::vector<float>{0, 0});
}

TEST_CASE("products whose shapes do not fit are refused") {
    CudaContext ctx(0);
    const OnDevice x(ctx, numbers<float>({1, 2, 3, 4}));
    const OnDevice y(ctx, unwritten<float>(4));
    CHECK_THROWS_AS(
        kernels::linear_forward<float>(ctx, x.matrix(2, 2), x.matrix(1, 4), {}, y.matrix(2, 1)),
        Error);
    CHECK_THROWS_AS(kernels::linear_forward<float>(ctx, x.matrix(2, 2), x.matrix(2, 2), x.view(),
                                                   y.matrix(2, 2)),
                    Error);
}
