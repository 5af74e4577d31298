// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "runtime/kernels/norm.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/reference/dropout_reference.hpp"
#include "tests/support/reference/rows_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::Dropout;
using kernels::NormKind;

namespace {

const kernels::StepState rms_step{.seed = 3, .step = 4};
constexpr float rms_epsilon = 1e-6f;

// An rms norm of a residual sum of `rows` random rows: its operands and the kernel's results.
template <class T>
struct RmsCase {
    RmsCase(std::int64_t r, std::int64_t d, float rate)
        : rows(r),
          cols(d),
          site{rate, 6, &rms_step},
          coordinates(r),
          x(random_numbers<T>(r * d, 1, 2)),
          branch(random_numbers<T>(r * d, 2, 2)),
          gamma(random_numbers<T>(d, 3)),
          dy(random_numbers<T>(r * d, 5)),
          d_sum(random_numbers<T>(r * d, 6)),
          sum(x.size()),
          y(x.size()),
          dx(x.size()),
          d_branch(x.size()),
          rstd(static_cast<std::size_t>(r)),
          dgamma(static_cast<std::size_t>(d), 1.0f),
          dbias(dgamma) {}

    void run(CpuContext& ctx) {
        kernels::norm_forward<T>(ctx, {.kind = NormKind::rms,
                                       .epsilon = rms_epsilon,
                                       .dropout = site,
                                       .coordinates = coordinates.view(),
                                       .x = matrix_of(x, rows, cols),
                                       .branch = matrix_of(branch, rows, cols),
                                       .gamma = const_view_of(gamma),
                                       .sum = matrix_of(sum, rows, cols),
                                       .y = matrix_of(y, rows, cols),
                                       .rstd = view_of(rstd)});
        kernels::norm_backward<T>(ctx, {.kind = NormKind::rms,
                                        .dropout = site,
                                        .coordinates = coordinates.view(),
                                        .dy = matrix_of(dy, rows, cols),
                                        .d_sum = matrix_of(d_sum, rows, cols),
                                        .sum = matrix_of(sum, rows, cols),
                                        .rstd = const_view_of(rstd),
                                        .gamma = const_view_of(gamma),
                                        .dx = matrix_of(dx, rows, cols),
                                        .d_branch = matrix_of(d_branch, rows, cols),
                                        .dgamma = view_of(dgamma),
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
    std::vector<T> x, branch, gamma, dy, d_sum, sum, y, dx, d_branch;
    std::vector<float> rstd, dgamma, dbias;
};

double rms_loss(const Row& dy, const Row& sum, const Row& gamma) {
    const Row y = rms_norm_reference(sum, gamma, 1e-6);
    double loss = 0;
    for (std::size_t j = 0; j < y.size(); ++j) loss += dy[j] * y[j];
    return loss;
}

template <class T>
void check_rows(const RmsCase<T>& c) {
    const Row gamma = to_doubles(c.gamma);
    const std::int64_t step = std::max<std::int64_t>(1, c.cols / 37);  // some columns of a long row
    for (std::int64_t i = 0; i < c.rows; ++i) {
        const Row dy = c.row_of(c.dy, i);
        Row sum = c.row_of(c.sum, i);
        const Row expected = rms_norm_reference(sum, gamma, 1e-6);
        const double magnitude = double{c.rstd[static_cast<std::size_t>(i)]} + 1;
        for (std::int64_t j = 0; j < c.cols; j += step) {
            const auto column = static_cast<std::size_t>(j);
            const std::size_t at = c.at(i, j);
            REQUIRE(close(to_double(c.sum[at]),
                          to_double(c.x[at]) + c.factor(i, j) * to_double(c.branch[at]),
                          dtype_of<T>));
            // The normed value and its product are both rounded, so an error may be twice as large.
            const double halved = (to_double(c.y[at]) + expected[column]) / 2;
            REQUIRE(close(halved, expected[column], dtype_of<T>, c.cols));
            const double slope = central_difference(
                sum[column], [&] { return rms_loss(dy, sum, gamma); }, 1e-4);
            REQUIRE(close(to_double(c.dx[at]), slope + to_double(c.d_sum[at]), dtype_of<T>,
                          16 + c.cols, magnitude));
            REQUIRE(close(to_double(c.d_branch[at]), c.factor(i, j) * to_double(c.dx[at]),
                          dtype_of<T>));
        }
    }
}

template <class T>
void check_sums(const RmsCase<T>& c) {
    for (std::int64_t j = 0; j < c.cols; ++j) {
        double dgamma = 1, dbias = 1;  // added to the previous values
        for (std::int64_t i = 0; i < c.rows; ++i) {
            const double rstd = double{c.rstd[static_cast<std::size_t>(i)]};
            dgamma += to_double(c.dy[c.at(i, j)]) * to_double(c.sum[c.at(i, j)]) * rstd;
            dbias += to_double(c.d_branch[c.at(i, j)]);
        }
        const auto at = static_cast<std::size_t>(j);
        REQUIRE(close(double{c.dgamma[at]}, dgamma, Dtype::fp32, c.rows, 2));
        REQUIRE(close(double{c.dbias[at]}, dbias, Dtype::fp32, c.rows, 2));
    }
}

}  // namespace

TEST_CASE_TEMPLATE("rms norm matches hand-computed values", T, float, bf16) {
    CpuContext ctx(1);
    auto x = numbers<T>({3, 4, 0, 0});
    const auto gamma = numbers<T>({1, 2});
    std::vector<T> y(4);
    std::vector<float> rstd(2);
    kernels::norm_forward<T>(ctx, {.kind = NormKind::rms,
                                   .epsilon = 0.25f,
                                   .x = matrix_of(x, 2, 2),
                                   .gamma = const_view_of(gamma),
                                   .y = matrix_of(y, 2, 2),
                                   .rstd = view_of(rstd)});
    // The mean square of 3 and 4 is 12.5.
    const double by = 1 / std::sqrt(12.75);
    const Row expected{3 * by, 8 * by, 0, 0};
    for (std::size_t i = 0; i < 4; ++i) CHECK(close(to_double(y[i]), expected[i], dtype_of<T>));
    CHECK(close(double{rstd[0]}, by, Dtype::fp32));
    CHECK(rstd[1] == 2);
}

TEST_CASE("rms norm in bf16 rounds before it multiplies by the weight") {
    CpuContext ctx(1);
    auto x = random_numbers<bf16>(5 * 33, 1, 2);
    const auto gamma = random_numbers<bf16>(33, 2);
    std::vector<bf16> y(x.size());
    std::vector<float> rstd(5);
    kernels::norm_forward<bf16>(ctx, {.kind = NormKind::rms,
                                      .epsilon = rms_epsilon,
                                      .x = matrix_of(x, 5, 33),
                                      .gamma = const_view_of(gamma),
                                      .y = matrix_of(y, 5, 33),
                                      .rstd = view_of(rstd)});
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bf16 normed(static_cast<float>(x[i]) * rstd[i / 33]);
        REQUIRE(y[i].bits ==
                bf16(static_cast<float>(normed) * static_cast<float>(gamma[i % 33])).bits);
    }
}

TEST_CASE_TEMPLATE("rms norm of a residual and its backward match the reference", T, float, bf16) {
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const std::int64_t cols : {1, 31, 32, 33, 1000, 4097}) {
            for (const float rate : {0.0f, 0.25f}) {
                RmsCase<T> c(5, cols, rate);
                c.run(ctx);
                check_rows(c);
                check_sums(c);
            }
        }
    }
}

TEST_CASE_TEMPLATE("rms norm has the same bits for any number of threads", T, float, bf16) {
    CpuContext one(1);
    RmsCase<T> a(777, 65, 0.1f);
    a.run(one);
    for (const int threads : {2, 3, 5}) {
        CpuContext more(threads);
        RmsCase<T> b(777, 65, 0.1f);
        b.run(more);
        CHECK(to_doubles(a.y) == to_doubles(b.y));
        CHECK(to_doubles(a.dx) == to_doubles(b.dx));
        CHECK(a.dgamma == b.dgamma);
        CHECK(a.dbias == b.dbias);
    }
    check_sums(a);
}

TEST_CASE_TEMPLATE("rms norm's backward may write over its inputs, without optional operands", T,
                   float, bf16) {
    CpuContext ctx(1);
    RmsCase<T> a(4, 33, 0);
    std::fill(a.d_sum.begin(), a.d_sum.end(), T{});
    RmsCase<T> b = a;
    a.run(ctx);
    b.run(ctx);
    b.dgamma.assign(33, NAN);
    kernels::norm_backward<T>(ctx, {.kind = NormKind::rms,
                                    .dy = matrix_of(b.dy, 4, 33),
                                    .sum = matrix_of(b.sum, 4, 33),
                                    .rstd = const_view_of(b.rstd),
                                    .gamma = const_view_of(b.gamma),
                                    .dx = matrix_of(b.dy, 4, 33),
                                    .dgamma = view_of(b.dgamma),
                                    .into = kernels::Into::overwrite});
    CHECK(to_doubles(b.dy) == to_doubles(a.dx));
    for (std::size_t j = 0; j < 33; ++j)
        CHECK(close(double{b.dgamma[j]}, double{a.dgamma[j]} - 1, Dtype::fp32, 4));
}

TEST_CASE("layer norm takes any epsilon") {
    CpuContext ctx(1);
    auto x = numbers<float>({1, 3});
    const auto gamma = numbers<float>({1, 1}), beta = numbers<float>({0, 0});
    std::vector<float> y(2), mean(1), rstd(1);
    kernels::norm_forward<float>(ctx, {.epsilon = 3,
                                       .x = matrix_of(x, 1, 2),
                                       .gamma = const_view_of(gamma),
                                       .beta = const_view_of(beta),
                                       .y = matrix_of(y, 1, 2),
                                       .mean = view_of(mean),
                                       .rstd = view_of(rstd)});
    CHECK(y == std::vector<float>{-0.5f, 0.5f});
}
