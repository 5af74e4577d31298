// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/activation.hpp"

#include <doctest/doctest.h>

#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/reference/dropout_reference.hpp"
#include "tests/support/reference/rows_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::Activation;
using kernels::CpuContext;
using kernels::Dropout;

namespace {

constexpr Activation all[] = {Activation::relu, Activation::gelu_tanh, Activation::gelu_erf,
                              Activation::silu};
const kernels::StepState state{.seed = 3, .step = 4};
// The range of x. An error of Phi(x) is multiplied by x.
constexpr double range = 6;

// Checks that db is 1 + the sums of dx's columns.
template <class T>
void check_column_sums(const std::vector<T>& dx, const std::vector<float>& db) {
    const std::size_t cols = db.size(), rows = dx.size() / cols;
    for (std::size_t j = 0; j < cols; ++j) {
        double sum = 1;
        for (std::size_t i = 0; i < rows; ++i) sum += to_double(dx[i * cols + j]);
        REQUIRE(close(double{db[j]}, sum, Dtype::fp32, static_cast<std::int64_t>(rows), range));
    }
}

}  // namespace

TEST_CASE_TEMPLATE("activations match hand-computed values", T, float, bf16) {
    CpuContext ctx(1);
    auto x = numbers<T>({-2, -0.5, 0, 1, 3, 30});
    std::vector<T> y(6);
    const auto run = [&](Activation f) {
        kernels::activation_forward<T>(ctx, f, {}, {}, matrix_of(x, 2, 3), matrix_of(y, 2, 3));
        return to_doubles(y);
    };
    CHECK(run(Activation::relu) == Row{0, 0, 0, 1, 3, 30});
    const Row tanh_values = run(Activation::gelu_tanh), erf_values = run(Activation::gelu_erf);
    const Row tanh_expected{-0.0454023, -0.1542860, 0, 0.8411920, 2.9963627, 30};
    const Row erf_expected{-0.0455003, -0.1542688, 0, 0.8413447, 2.9959503, 30};
    const Row silu_values = run(Activation::silu);
    const Row silu_expected{-0.2384058, -0.1887703, 0, 0.7310586, 2.8577224, 30};
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(close(silu_values[i], silu_expected[i], dtype_of<T>));
        CHECK(close(tanh_values[i], tanh_expected[i], dtype_of<T>));
        CHECK(close(erf_values[i], erf_expected[i], dtype_of<T>));
    }
}

TEST_CASE_TEMPLATE("activations with dropout match the reference and its derivative", T, float,
                   bf16) {
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const std::int64_t cols : {1, 31, 32, 33, 1000, 4097}) {
            for (const Activation f : all) {
                for (const float rate : {0.0f, 0.25f}) {
                    constexpr std::int64_t rows = 5;
                    const Dropout site{rate, 6, &state};
                    const Coordinates coordinates(rows);
                    auto x = random_numbers<T>(rows * cols, 1, range);
                    auto dy = random_numbers<T>(rows * cols, 2);
                    const Row gradient = to_doubles(dy);
                    std::vector<T> y(x.size());
                    kernels::activation_forward<T>(ctx, f, site, coordinates.view(),
                                                   matrix_of(x, rows, cols),
                                                   matrix_of(y, rows, cols));
                    std::vector<float> db(static_cast<std::size_t>(cols), 1.0f);
                    // This works in place: dx may be dy.
                    kernels::activation_backward<T>(ctx, {.f = f,
                                                          .dropout = site,
                                                          .coordinates = coordinates.view(),
                                                          .x = matrix_of(x, rows, cols),
                                                          .dy = matrix_of(dy, rows, cols),
                                                          .dx = matrix_of(dy, rows, cols),
                                                          .db = view_of(db),
                                                          .into = kernels::Into::add});
                    check_column_sums(dy, db);
                    for (std::size_t i = 0; i < x.size(); ++i) {
                        const std::size_t row = i / static_cast<std::size_t>(cols);
                        const double factor = dropout_factor(
                            site, coordinates.rows[row], coordinates.positions[row],
                            static_cast<std::int64_t>(i) - static_cast<std::int64_t>(row) * cols);
                        double at = to_double(x[i]);
                        if (f == Activation::relu && std::abs(at) < 1e-4) continue;  // the kink
                        REQUIRE(close(to_double(y[i]), factor * activation_reference(f, at),
                                      dtype_of<T>, 1, range));
                        const double slope =
                            central_difference(at, [&] { return activation_reference(f, at); });
                        REQUIRE(close(to_double(dy[i]), factor * slope * gradient[i], dtype_of<T>,
                                      1, range));
                    }
                }
            }
        }
    }
}

TEST_CASE("activations keep NaN") {
    CpuContext ctx(1);
    for (const Activation f : all) {
        std::vector<float> x{std::nanf(""), 1.0f};
        kernels::activation_forward<float>(ctx, f, {}, {}, matrix_of(x, 1, 2), matrix_of(x, 1, 2));
        CHECK(std::isnan(x[0]));
        CHECK(!std::isnan(x[1]));
    }
}

TEST_CASE_TEMPLATE("relu's backward from its output equals that from its input", T, float, bf16) {
    CpuContext ctx(2);
    constexpr std::int64_t rows = 20, cols = 1000;
    for (const float rate : {0.0f, 0.25f}) {
        const Dropout site{rate, 6, &state};
        const Coordinates coordinates(rows);
        auto x = random_numbers<T>(rows * cols, 1, range);
        auto dy = random_numbers<T>(rows * cols, 2);
        std::vector<T> from_x(x.size());
        std::vector<float> db(cols, 1.0f), db_from_y(cols, 1.0f);
        kernels::activation_backward<T>(ctx, {.f = Activation::relu,
                                              .dropout = site,
                                              .coordinates = coordinates.view(),
                                              .x = matrix_of(x, rows, cols),
                                              .dy = matrix_of(dy, rows, cols),
                                              .dx = matrix_of(from_x, rows, cols),
                                              .db = view_of(db),
                                              .into = kernels::Into::add});
        kernels::activation_forward<T>(ctx, Activation::relu, site, coordinates.view(),
                                       matrix_of(x, rows, cols), matrix_of(x, rows, cols));
        kernels::relu_backward<T>(ctx, {.dropout = site,
                                        .y = matrix_of(x, rows, cols),
                                        .dy = matrix_of(dy, rows, cols),
                                        .dx = matrix_of(dy, rows, cols),
                                        .db = view_of(db_from_y),
                                        .into = kernels::Into::add});
        CHECK(to_doubles(dy) == to_doubles(from_x));
        CHECK(db_from_y == db);
    }
}

TEST_CASE_TEMPLATE(
    "the gradients of activations and of the bias before them match hand-computed values", T, float,
    bf16) {
    CpuContext ctx(1);
    const Dropout site{0.5f, 0, &state};
    auto y = numbers<T>({1, 0, 2, -0.0, 3, 0}), dy = numbers<T>({1, 2, 3, 4, 5, 6});
    std::vector<float> db{1, 1, 1};
    kernels::relu_backward<T>(ctx, {.dropout = site,
                                    .y = matrix_of(y, 2, 3),
                                    .dy = matrix_of(dy, 2, 3),
                                    .dx = matrix_of(dy, 2, 3),
                                    .db = view_of(db),
                                    .into = kernels::Into::add});
    CHECK(to_doubles(dy) == Row{2, 0, 6, 0, 10, 0});
    CHECK(db == std::vector<float>{3, 11, 7});

    auto x = numbers<T>({0, 30, -30, 0, 30, 30}), dz = numbers<T>({1, 2, 3, 4, 5, 6});
    for (const Activation f : {Activation::gelu_tanh, Activation::gelu_erf}) {
        std::vector<T> dx(6);
        db = {1, 1, 1};
        kernels::activation_backward<T>(ctx, {.f = f,
                                              .x = matrix_of(x, 2, 3),
                                              .dy = matrix_of(dz, 2, 3),
                                              .dx = matrix_of(dx, 2, 3),
                                              .db = view_of(db),
                                              .into = kernels::Into::add});
        CHECK(to_doubles(dx) == Row{0.5, 2, 0, 2, 5, 6});
        CHECK(db == std::vector<float>{3.5, 8, 7});
    }
}

TEST_CASE_TEMPLATE("a bias's gradient has the same bits for any number of threads", T, float,
                   bf16) {
    constexpr std::int64_t rows = 777, cols = 65;
    auto x = random_numbers<T>(rows * cols, 1, range), dy = random_numbers<T>(rows * cols, 2);
    std::vector<T> dx(x.size());
    const auto sums = [&](int threads, const auto& backward) {
        CpuContext ctx(threads);
        std::vector<float> db(cols, 1.0f);
        backward(ctx, view_of(db));
        return db;
    };
    const auto gelu = [&](CpuContext& ctx, HostView<float> db) {
        kernels::activation_backward<T>(ctx, {.f = Activation::gelu_tanh,
                                              .x = matrix_of(x, rows, cols),
                                              .dy = matrix_of(dy, rows, cols),
                                              .dx = matrix_of(dx, rows, cols),
                                              .db = db,
                                              .into = kernels::Into::add});
    };
    const auto relu = [&](CpuContext& ctx, HostView<float> db) {
        kernels::relu_backward<T>(ctx, {.y = matrix_of(x, rows, cols),
                                        .dy = matrix_of(dy, rows, cols),
                                        .dx = matrix_of(dx, rows, cols),
                                        .db = db,
                                        .into = kernels::Into::add});
    };
    CHECK(sums(1, gelu) == sums(2, gelu));
    check_column_sums(dx, sums(2, gelu));
    CHECK(sums(1, relu) == sums(2, relu));
    check_column_sums(dx, sums(2, relu));
}
