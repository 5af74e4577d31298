// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/norm.hpp"

#include <doctest/doctest.h>

#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/reference/dropout_reference.hpp"
#include "tests/support/reference/rows_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::Dropout;

namespace {

const kernels::StepState norm_step{.seed = 3, .step = 4};

// A residual norm of `rows` random rows: its operands and the kernel's results.
template <class T>
struct Case {
    Case(std::int64_t r, std::int64_t d, float rate)
        : rows(r),
          cols(d),
          site{rate, 6, &norm_step},
          coordinates(r),
          x(random_numbers<T>(r * d, 1, 2)),
          branch(random_numbers<T>(r * d, 2, 2)),
          gamma(random_numbers<T>(d, 3)),
          beta(random_numbers<T>(d, 4)),
          dy(random_numbers<T>(r * d, 5)),
          d_sum(random_numbers<T>(r * d, 6)),
          sum(x.size()),
          y(x.size()),
          dx(x.size()),
          d_branch(x.size()),
          mean(static_cast<std::size_t>(r)),
          rstd(mean.size()),
          dgamma(static_cast<std::size_t>(d), 1.0f),
          dbeta(dgamma),
          dbias(dgamma) {}

    void forward(CpuContext& ctx) {
        kernels::norm_forward<T>(ctx, {.dropout = site,
                                       .coordinates = coordinates.view(),
                                       .x = matrix_of(x, rows, cols),
                                       .branch = matrix_of(branch, rows, cols),
                                       .gamma = const_view_of(gamma),
                                       .beta = const_view_of(beta),
                                       .sum = matrix_of(sum, rows, cols),
                                       .y = matrix_of(y, rows, cols),
                                       .mean = view_of(mean),
                                       .rstd = view_of(rstd)});
    }
    void backward(CpuContext& ctx) {
        kernels::norm_backward<T>(ctx, {.dropout = site,
                                        .coordinates = coordinates.view(),
                                        .dy = matrix_of(dy, rows, cols),
                                        .d_sum = matrix_of(d_sum, rows, cols),
                                        .sum = matrix_of(sum, rows, cols),
                                        .mean = const_view_of(mean),
                                        .rstd = const_view_of(rstd),
                                        .gamma = const_view_of(gamma),
                                        .dx = matrix_of(dx, rows, cols),
                                        .d_branch = matrix_of(d_branch, rows, cols),
                                        .dgamma = view_of(dgamma),
                                        .dbeta = view_of(dbeta),
                                        .dbias = view_of(dbias),
                                        .into = kernels::Into::add});
    }
    double factor(std::int64_t row, std::int64_t column) const {
        const auto at = static_cast<std::size_t>(row);
        return dropout_factor(site, coordinates.rows[at], coordinates.positions[at], column);
    }
    std::size_t at(std::int64_t row, std::int64_t column) const {
        return static_cast<std::size_t>(row * cols + column);
    }
    Row row_of(const std::vector<T>& values, std::int64_t row) const {
        const auto first = values.begin() + row * cols;
        return to_doubles(std::vector<T>(first, first + cols));
    }

    std::int64_t rows, cols;
    Dropout site;
    Coordinates coordinates;
    std::vector<T> x, branch, gamma, beta, dy, d_sum, sum, y, dx, d_branch;
    std::vector<float> mean, rstd, dgamma, dbeta, dbias;
};

// Returns the sum over a row of dy * norm(sum); backward calculates its derivative by sum.
double row_loss(const Row& dy, const Row& sum, const Row& gamma, const Row& beta) {
    const Row y = norm_reference(sum, gamma, beta, 1e-5);
    double loss = 0;
    for (std::size_t j = 0; j < y.size(); ++j) loss += dy[j] * y[j];
    return loss;
}

template <class T>
void check_forward(const Case<T>& c) {
    for (std::int64_t i = 0; i < c.rows; ++i) {
        const Row expected =
            norm_reference(c.row_of(c.sum, i), to_doubles(c.gamma), to_doubles(c.beta), 1e-5);
        for (std::int64_t j = 0; j < c.cols; ++j) {
            const std::size_t at = c.at(i, j);
            REQUIRE(close(to_double(c.sum[at]),
                          to_double(c.x[at]) + c.factor(i, j) * to_double(c.branch[at]),
                          dtype_of<T>));
            REQUIRE(close(to_double(c.y[at]), expected[static_cast<std::size_t>(j)], dtype_of<T>,
                          c.cols));
        }
    }
}

template <class T>
void check_backward(const Case<T>& c) {
    const Row gamma = to_doubles(c.gamma), beta = to_doubles(c.beta);
    const std::int64_t step = std::max<std::int64_t>(1, c.cols / 37);  // some columns of a long row
    for (std::int64_t i = 0; i < c.rows; ++i) {
        const Row dy = c.row_of(c.dy, i);
        Row sum = c.row_of(c.sum, i);
        for (std::int64_t j = 0; j < c.cols; j += step) {
            const double slope = central_difference(
                sum[static_cast<std::size_t>(j)], [&] { return row_loss(dy, sum, gamma, beta); },
                1e-4);
            const std::size_t at = c.at(i, j);
            const double expected = slope + to_double(c.d_sum[at]);
            const double magnitude = double{c.rstd[static_cast<std::size_t>(i)]} + 1;
            REQUIRE(close(to_double(c.dx[at]), expected, dtype_of<T>, 16 + c.cols, magnitude));
            REQUIRE(close(to_double(c.d_branch[at]), c.factor(i, j) * to_double(c.dx[at]),
                          dtype_of<T>));
        }
    }
}

template <class T>
void check_parameters(const Case<T>& c) {
    for (std::int64_t j = 0; j < c.cols; ++j) {
        double dgamma = 1, dbeta = 1, dbias = 1;  // added to the previous values
        for (std::int64_t i = 0; i < c.rows; ++i) {
            const auto row = static_cast<std::size_t>(i);
            const double h =
                (to_double(c.sum[c.at(i, j)]) - double{c.mean[row]}) * double{c.rstd[row]};
            dgamma += to_double(c.dy[c.at(i, j)]) * h;
            dbeta += to_double(c.dy[c.at(i, j)]);
            dbias += to_double(c.d_branch[c.at(i, j)]);
        }
        const auto at = static_cast<std::size_t>(j);
        REQUIRE(close(double{c.dgamma[at]}, dgamma, Dtype::fp32, c.rows, 2));
        REQUIRE(close(double{c.dbeta[at]}, dbeta, Dtype::fp32, c.rows));
        REQUIRE(close(double{c.dbias[at]}, dbias, Dtype::fp32, c.rows, 2));
    }
}

}  // namespace

TEST_CASE_TEMPLATE("layer norm matches hand-computed values", T, float, bf16) {
    CpuContext ctx(1);
    auto x = numbers<T>({1, 3, -2, 2});
    const auto gamma = numbers<T>({1, 2}), beta = numbers<T>({0, 1});
    std::vector<T> y(4);
    std::vector<float> mean(2), rstd(2);
    kernels::norm_forward<T>(ctx, {.x = matrix_of(x, 2, 2),
                                   .gamma = const_view_of(gamma),
                                   .beta = const_view_of(beta),
                                   .y = matrix_of(y, 2, 2),
                                   .mean = view_of(mean),
                                   .rstd = view_of(rstd)});
    const double first = 1 / std::sqrt(1 + 1e-5), second = 2 / std::sqrt(4 + 1e-5);
    const Row expected{-first, 1 + 2 * first, -second, 1 + 2 * second};
    for (std::size_t i = 0; i < 4; ++i) CHECK(close(to_double(y[i]), expected[i], dtype_of<T>));
    CHECK(mean == std::vector<float>{2, 0});
    CHECK(close(double{rstd[0]}, 1 / std::sqrt(1 + 1e-5), Dtype::fp32));
    CHECK(close(double{rstd[1]}, 1 / std::sqrt(4 + 1e-5), Dtype::fp32));
}

TEST_CASE_TEMPLATE("residual norm and its backward match the reference", T, float, bf16) {
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const std::int64_t cols : {1, 31, 32, 33, 1000, 4097}) {
            for (const float rate : {0.0f, 0.25f}) {
                Case<T> c(5, cols, rate);
                c.forward(ctx);
                check_forward(c);
                c.backward(ctx);
                check_backward(c);
                check_parameters(c);
            }
        }
    }
}

TEST_CASE_TEMPLATE("norm gradients of many rows have the same bits for any number of threads", T,
                   float, bf16) {
    CpuContext one(1), two(2);
    Case<T> a(777, 65, 0.1f), b(777, 65, 0.1f);
    a.forward(one);
    a.backward(one);
    b.forward(two);
    b.backward(two);
    CHECK(a.dgamma == b.dgamma);
    CHECK(a.dbeta == b.dbeta);
    CHECK(a.dbias == b.dbias);
    check_parameters(a);
}

TEST_CASE_TEMPLATE("the norm's and the bias's gradients match hand-computed values", T, float,
                   bf16) {
    CpuContext ctx(1);
    auto dy = numbers<T>({1, 0, 0, 0, 1, 0}), sum = numbers<T>({-1, 0, 1, -1, 0, 1});
    const auto gamma = numbers<T>({1, 1, 1});
    const std::vector<float> mean{0, 0}, rstd{1, 1};
    std::vector<T> dx(6);
    std::vector<float> dgamma{0, 0, 0}, dbeta{0, 0, 5}, dbias{0, 0, 5};
    kernels::norm_backward<T>(ctx, {.dy = matrix_of(dy, 2, 3),
                                    .sum = matrix_of(sum, 2, 3),
                                    .mean = const_view_of(mean),
                                    .rstd = const_view_of(rstd),
                                    .gamma = const_view_of(gamma),
                                    .dx = matrix_of(dx, 2, 3),
                                    .dgamma = view_of(dgamma),
                                    .dbeta = view_of(dbeta),
                                    .dbias = view_of(dbias),
                                    .into = kernels::Into::add});
    // The expected values are g - mean(g) - h mean(g h).
    const double third = 1.0 / 3;
    const Row expected{third, -third, 0, -third, 2 * third, -third}, sums{0, third, 5 - third};
    for (std::size_t i = 0; i < 6; ++i) CHECK(close(to_double(dx[i]), expected[i], dtype_of<T>));
    CHECK(dgamma == std::vector<float>{-1, 0, 0});
    CHECK(dbeta == std::vector<float>{1, 1, 5});
    for (std::size_t j = 0; j < 3; ++j) CHECK(close(double{dbias[j]}, sums[j], dtype_of<T>, 2));

    std::vector<float> unknown(9, NAN), zeros(9);
    for (auto* const to : {&unknown, &zeros}) {
        const auto part = [&](std::size_t i) { return view_of(*to).subview(3 * i, 3); };
        kernels::norm_backward<T>(
            ctx, {.dy = matrix_of(dy, 2, 3),
                  .sum = matrix_of(sum, 2, 3),
                  .mean = const_view_of(mean),
                  .rstd = const_view_of(rstd),
                  .gamma = const_view_of(gamma),
                  .dx = matrix_of(dx, 2, 3),
                  .dgamma = part(0),
                  .dbeta = part(1),
                  .dbias = part(2),
                  .into = to == &zeros ? kernels::Into::add : kernels::Into::overwrite});
    }
    CHECK(unknown == zeros);
    const HostMatrix<T> none(nullptr, 0, 3);
    kernels::norm_backward<T>(ctx, {.dy = none,
                                    .sum = none,
                                    .mean = {},
                                    .rstd = {},
                                    .gamma = const_view_of(gamma),
                                    .dx = none,
                                    .dgamma = view_of(dgamma),
                                    .dbeta = view_of(dbeta),
                                    .into = kernels::Into::overwrite});
    CHECK(dgamma == std::vector<float>(3));
    CHECK(dbeta == std::vector<float>(3));
}

TEST_CASE("norm_backward may write over its inputs, and optional operands may be missing") {
    CpuContext ctx(1);
    Case<float> a(4, 33, 0);
    a.forward(ctx);
    std::fill(a.d_sum.begin(), a.d_sum.end(), 0.0f);
    const Case<float> before = a;
    a.backward(ctx);
    for (const bool with_bias : {false, true}) {
        Case<float> b = before;
        kernels::norm_backward<float>(ctx,
                                      {.dy = matrix_of(b.dy, 4, 33),
                                       .sum = matrix_of(b.sum, 4, 33),
                                       .mean = const_view_of(b.mean),
                                       .rstd = const_view_of(b.rstd),
                                       .gamma = const_view_of(b.gamma),
                                       .dx = matrix_of(b.dy, 4, 33),
                                       .dgamma = view_of(b.dgamma),
                                       .dbeta = view_of(b.dbeta),
                                       .dbias = with_bias ? view_of(b.dbias) : HostView<float>(),
                                       .into = kernels::Into::add});
        CHECK(b.dy == a.dx);
        CHECK(b.dgamma == a.dgamma);
        CHECK(b.dbeta == a.dbeta);
        CHECK(b.dbias == (with_bias ? a.dbias : before.dbias));
    }
}

TEST_CASE_TEMPLATE("norm_forward of the sum alone writes the same bits again", T, float, bf16) {
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const std::int64_t cols : {1, 31, 32, 33, 1000, 4097}) {
            Case<T> c(20, cols, 0.25f);
            c.forward(ctx);
            std::vector<T> y(c.y.size());
            std::vector<float> mean(20), rstd(20);
            kernels::norm_forward<T>(ctx, {.x = matrix_of(c.sum, 20, cols),
                                           .gamma = const_view_of(c.gamma),
                                           .beta = const_view_of(c.beta),
                                           .y = matrix_of(y, 20, cols),
                                           .mean = view_of(mean),
                                           .rstd = view_of(rstd)});
            CHECK(to_doubles(y) == to_doubles(c.y));
            CHECK(mean == c.mean);
            CHECK(rstd == c.rstd);
        }
    }
}

TEST_CASE("norm_forward may write y over x where there is a branch") {
    CpuContext ctx(1);
    Case<float> a(4, 33, 0.25f), b(4, 33, 0.25f);
    a.forward(ctx);
    kernels::norm_forward<float>(ctx, {.dropout = b.site,
                                       .coordinates = b.coordinates.view(),
                                       .x = matrix_of(b.x, 4, 33),
                                       .branch = matrix_of(b.branch, 4, 33),
                                       .gamma = const_view_of(b.gamma),
                                       .beta = const_view_of(b.beta),
                                       .sum = matrix_of(b.branch, 4, 33),
                                       .y = matrix_of(b.x, 4, 33),
                                       .mean = view_of(b.mean),
                                       .rstd = view_of(b.rstd)});
    CHECK(b.x == a.y);
    CHECK(b.branch == a.sum);
}

TEST_CASE("layer norm is exact where the mean is large against the spread") {
    CpuContext ctx(1);
    std::vector<float> x{4096.0f, 4097.0f, 4098.0f, 4099.0f}, y(4), mean(1), rstd(1);
    const std::vector<float> gamma(4, 1.0f), beta(4, 0.0f);
    kernels::norm_forward<float>(ctx, {.x = matrix_of(x, 1, 4),
                                       .gamma = const_view_of(gamma),
                                       .beta = const_view_of(beta),
                                       .y = matrix_of(y, 1, 4),
                                       .mean = view_of(mean),
                                       .rstd = view_of(rstd)});
    const Row expected = norm_reference(to_doubles(x), Row(4, 1), Row(4, 0), 1e-5);
    for (std::size_t j = 0; j < 4; ++j) CHECK(close(double{y[j]}, expected[j], Dtype::fp32, 4));
}

TEST_CASE_TEMPLATE("residual_forward and add sum elementwise", T, float, bf16) {
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        Case<T> c(5, 1000, 0.25f);
        kernels::residual_forward<T>(ctx, c.site, c.coordinates.view(), matrix_of(c.x, 5, 1000),
                                     matrix_of(c.branch, 5, 1000), matrix_of(c.sum, 5, 1000));
        auto y = c.branch;
        kernels::add<T>(ctx, matrix_of(c.x, 5, 1000), matrix_of(y, 5, 1000));
        for (std::size_t i = 0; i < c.x.size(); ++i) {
            const double x = to_double(c.x[i]), b = to_double(c.branch[i]);
            const auto row = static_cast<std::int64_t>(i / 1000);
            const auto column = static_cast<std::int64_t>(i % 1000);
            REQUIRE(close(to_double(c.sum[i]), x + c.factor(row, column) * b, dtype_of<T>));
            REQUIRE(close(to_double(y[i]), x + b, dtype_of<T>));
        }
    }
}
