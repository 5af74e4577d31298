// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear.hpp"

#include <doctest/doctest.h>

#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;

namespace {

struct Size {
    std::int64_t rows, in, out;
};
constexpr Size awkward[] =
    {
        {1, 1, 1},     {1, 33, 31},      {31, 32, 33},    {33, 1, 65},
        {32, 1000, 1}, {4097, 31, 32},   {100, 64, 96},   {70, 20, 1300},
        {5, 3, 9001},  {2051, 120, 238}, {2050, 128, 129}};  // some run in panels or by pairs

// The columns [2, 2 + cols) of a matrix that is wider by five columns.
template <class T>
struct Strided {
    Strided(std::int64_t rows, std::int64_t cols, std::uint64_t key)
        : values(random_numbers<T>(rows * (cols + 5), key)),
          view(HostMatrix<T>(values.data(), rows, cols + 5).columns(2, cols)) {}

    double at(std::int64_t i, std::int64_t j) const {
        return to_double(view.data[i * view.stride + j]);
    }

    std::vector<T> values;
    HostMatrix<T> view;
};

// Compares the sum over k of a(i, k) * b(k, j) with every element of c.
template <class T, class A, class B, class Start>
void check_product(const Strided<T>& c, std::int64_t inner, const A& a, const B& b,
                   const Start& start) {
    // The partial sums grow like the square root of their length.
    const double magnitude = std::max(1.0, std::sqrt(static_cast<double>(inner)) / 5);
    for (std::int64_t i = 0; i < c.view.rows; ++i) {
        for (std::int64_t j = 0; j < c.view.cols; ++j) {
            double expected = start(i, j);
            for (std::int64_t k = 0; k < inner; ++k) expected += a(i, k) * b(k, j);
            REQUIRE(close(c.at(i, j), expected, dtype_of<T>, inner + 1, magnitude));
        }
    }
}

// Checks that nothing beside the slice has changed.
template <class T>
void check_margins(const Strided<T>& c, std::uint64_t key) {
    const std::int64_t width = c.view.cols + 5;
    const auto before = random_numbers<T>(c.view.rows * width, key);
    for (std::int64_t i = 0; i < c.view.rows; ++i)
        for (const std::int64_t j : {std::int64_t{0}, std::int64_t{1}, width - 3, width - 1})
            REQUIRE(to_double(c.values[static_cast<std::size_t>(i * width + j)]) ==
                    to_double(before[static_cast<std::size_t>(i * width + j)]));
}

}  // namespace

TEST_CASE_TEMPLATE("linear matches hand-computed values", T, float, bf16) {
    CpuContext ctx(1);
    auto x = numbers<T>({1, 2, 3, 4}), w = numbers<T>({1, 0, 0, 1, 1, 1});
    const auto bias = numbers<T>({10, 20, 30});
    std::vector<T> y(6), dx(4);
    kernels::linear_forward<T>(ctx, matrix_of(x, 2, 2), matrix_of(w, 3, 2), const_view_of(bias),
                               matrix_of(y, 2, 3));
    CHECK(to_doubles(y) == std::vector<double>{11, 22, 33, 13, 24, 37});
    auto dy = numbers<T>({1, 0, 2, 0, 1, 1});
    kernels::linear_backward_input<T>(ctx, matrix_of(dy, 2, 3), matrix_of(w, 3, 2),
                                      matrix_of(dx, 2, 2), kernels::Into::overwrite);
    CHECK(to_doubles(dx) == std::vector<double>{3, 2, 1, 2});
    kernels::linear_backward_input<T>(ctx, matrix_of(dy, 2, 3), matrix_of(w, 3, 2),
                                      matrix_of(dx, 2, 2), kernels::Into::add);
    CHECK(to_doubles(dx) == std::vector<double>{6, 4, 2, 4});
    std::vector<float> dw(6, 1.0f), db(3, 1.0f);
    kernels::linear_backward_weight<T>(ctx, matrix_of(x, 2, 2), matrix_of(dy, 2, 3),
                                       matrix_of(dw, 3, 2), kernels::Into::add);
    CHECK(dw == std::vector<float>{2, 3, 4, 5, 6, 9});
    kernels::bias_backward<T>(ctx, matrix_of(dy, 2, 3), view_of(db), kernels::Into::add);
    CHECK(db == std::vector<float>{2, 2, 4});
    std::vector<float> dw_alone(6, NAN), db_alone(3, NAN);
    kernels::linear_backward_weight<T>(ctx, matrix_of(x, 2, 2), matrix_of(dy, 2, 3),
                                       matrix_of(dw_alone, 3, 2), kernels::Into::overwrite);
    CHECK(dw_alone == std::vector<float>{1, 2, 3, 4, 5, 8});
    kernels::bias_backward<T>(ctx, matrix_of(dy, 2, 3), view_of(db_alone),
                              kernels::Into::overwrite);
    CHECK(db_alone == std::vector<float>{1, 1, 3});
}

TEST_CASE_TEMPLATE("linear and its gradients match the reference on slices of wider matrices", T,
                   float, bf16) {
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const Size& size : awkward) {
            const auto [rows, in, out] = size;
            const Strided<T> x(rows, in, 1), w(out, in, 2), dy(rows, out, 3);
            Strided<T> y(rows, out, 4), dx(rows, in, 5);
            Strided<float> dw(out, in, 6);
            const auto bias = random_numbers<T>(out, 7);
            const auto zero = [](std::int64_t, std::int64_t) { return 0.0; };
            const auto at = [](const auto& m) {
                return [&m](std::int64_t i, std::int64_t j) { return m.at(i, j); };
            };
            const auto turned = [](const auto& m) {
                return [&m](std::int64_t i, std::int64_t j) { return m.at(j, i); };
            };
            kernels::linear_forward<T>(ctx, x.view, w.view, const_view_of(bias), y.view);
            check_product(y, in, at(x), turned(w), [&](std::int64_t, std::int64_t j) {
                return to_double(bias[static_cast<std::size_t>(j)]);
            });
            check_margins(y, 4);
            kernels::linear_forward<T>(ctx, x.view, w.view, {}, y.view);
            check_product(y, in, at(x), turned(w), zero);
            kernels::linear_backward_input<T>(ctx, dy.view, w.view, dx.view,
                                              kernels::Into::overwrite);
            check_product(dx, out, at(dy), at(w), zero);
            const Strided<float> dw_before(out, in, 6);
            kernels::linear_backward_weight<T>(ctx, x.view, dy.view, dw.view, kernels::Into::add);
            check_product(dw, rows, turned(dy), at(x), at(dw_before));
            check_margins(dw, 6);
            Strided<T> sum(rows, in, 5);
            const Strided<T> sum_before(rows, in, 5);
            kernels::linear_backward_input<T>(ctx, dy.view, w.view, sum.view, kernels::Into::add);
            check_product(sum, out, at(dy), at(w), at(sum_before));
            check_margins(sum, 5);
        }
    }
}

// Rows of 1024 floats have 4 KiB and are processed in more than one part.
TEST_CASE_TEMPLATE("linear weight gradients match the reference where rows are pages apart", T,
                   float, bf16) {
    constexpr std::int64_t rows = 1030;
    for (const auto& [in, out] : {std::pair{1024, 3}, {3, 1024}, {1024, 1024}}) {
        CAPTURE(out);
        const auto x = random_numbers<T>(rows * in, 1), dy = random_numbers<T>(rows * out, 2);
        const HostMatrix<const T> inputs(x.data(), rows, in), gradients(dy.data(), rows, out);
        for (const int threads : {1, 2}) {
            CpuContext ctx(threads);
            std::vector<float> dw(static_cast<std::size_t>(out * in), 0.5f);
            kernels::linear_backward_weight<T>(ctx, inputs, gradients, matrix_of(dw, out, in),
                                               kernels::Into::add);
            for (std::int64_t i = 0; i < out * in; i += out == in ? 1009 : 1) {
                double expected = 0.5;
                for (std::int64_t k = 0; k < rows; ++k)
                    expected += to_double(dy[k * out + i / in]) * to_double(x[k * in + i % in]);
                REQUIRE(
                    close(double{dw[i]}, expected, Dtype::fp32, rows + 1, std::sqrt(rows) / 10));
            }
            std::vector<float> zeros(dw.size()), unknown(dw.size(), NAN);
            for (auto* const to : {&zeros, &unknown})
                kernels::linear_backward_weight<T>(
                    ctx, inputs, gradients, matrix_of(*to, out, in),
                    to == &zeros ? kernels::Into::add : kernels::Into::overwrite);
            CHECK(unknown == zeros);
        }
    }
}

TEST_CASE_TEMPLATE(
    "linear input gradients match the reference where many rows meet weights with rows of 1 KiB", T,
    float, bf16) {
    constexpr std::int64_t rows = 1283, in = 256, out = 5;
    const auto dy = random_numbers<T>(rows * out, 1), w = random_numbers<T>(out * in, 2);
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        std::vector<T> dx(static_cast<std::size_t>(rows * in), T(0.5f));
        kernels::linear_backward_input<T>(ctx, HostMatrix<const T>(dy.data(), rows, out),
                                          HostMatrix<const T>(w.data(), out, in),
                                          matrix_of(dx, rows, in), kernels::Into::add);
        for (std::int64_t i = 0; i < rows * in; ++i) {
            double expected = 0.5;
            for (std::int64_t k = 0; k < out; ++k)
                expected += to_double(dy[i / in * out + k]) * to_double(w[k * in + i % in]);
            REQUIRE(close(to_double(dx[i]), expected, dtype_of<T>, out + 1, 1));
        }
    }
}

TEST_CASE_TEMPLATE("bias gradients have the same bits for any number of threads", T, float, bf16) {
    CpuContext one(1), two(2);
    for (const std::int64_t rows : {1, 31, 32, 33, 1000, 4097}) {
        const Strided<T> dy(rows, 65, 1);
        std::vector<float> a(65, 2.0f), b(65, 2.0f);
        kernels::bias_backward<T>(one, dy.view, view_of(a), kernels::Into::add);
        kernels::bias_backward<T>(two, dy.view, view_of(b), kernels::Into::add);
        CHECK(a == b);
        for (std::int64_t j = 0; j < 65; ++j) {
            double expected = 2;
            for (std::int64_t i = 0; i < rows; ++i) expected += dy.at(i, j);
            REQUIRE(close(double{a[static_cast<std::size_t>(j)]}, expected, Dtype::fp32, rows));
        }
    }
}

TEST_CASE("products of no rows are zero, of other shapes are refused") {
    CpuContext ctx(1);
    std::vector<float> w(6, 1.0f), dw(6, 1.0f), y(4);
    const HostMatrix<float> none_in(nullptr, 0, 2), none_out(nullptr, 0, 3);
    kernels::linear_forward<float>(ctx, none_in, matrix_of(w, 3, 2), {}, none_out);
    kernels::linear_backward_weight<float>(ctx, none_in, none_out, matrix_of(dw, 3, 2),
                                           kernels::Into::add);
    CHECK(dw == std::vector<float>(6, 1.0f));
    kernels::linear_backward_weight<float>(ctx, none_in, none_out, matrix_of(dw, 3, 2),
                                           kernels::Into::overwrite);
    CHECK(dw == std::vector<float>(6));
    std::vector<float> db(3, 1.0f);
    kernels::bias_backward<float>(ctx, none_out, view_of(db), kernels::Into::add);
    CHECK(db == std::vector<float>(3, 1.0f));
    kernels::bias_backward<float>(ctx, none_out, view_of(db), kernels::Into::overwrite);
    CHECK(db == std::vector<float>(3));
    CHECK_THROWS_AS(
        kernels::linear_forward<float>(ctx, matrix_of(y, 2, 2), matrix_of(w, 2, 3), {}, none_out),
        Error);
}

TEST_CASE("more shapes than the cache holds still give right products") {
    CpuContext ctx(1);
    std::vector<float> x(1100, 1.0f), w{2.0f}, y(1100);
    for (int pass = 0; pass < 2; ++pass) {
        for (std::int64_t rows = 1; rows <= 1100; ++rows) {
            y[static_cast<std::size_t>(rows - 1)] = 0;
            kernels::linear_forward<float>(ctx, matrix_of(x, rows, 1), matrix_of(w, 1, 1), {},
                                           matrix_of(y, rows, 1));
            REQUIRE(y[static_cast<std::size_t>(rows - 1)] == 2.0f);
        }
    }
}
