// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/linear_activation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/reference/dropout_reference.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::kernels;

namespace {

// So many rows and outputs that products of pairs are taken where the processor has them.
constexpr std::int64_t rows = 300, in = 128, out = 256;

template <class T>
struct Layer {
    std::vector<T> x = random_numbers<T>(rows * in, 1), w = random_numbers<T>(out * in, 2),
                   bias = random_numbers<T>(out, 3);
    std::vector<T> hidden = std::vector<T>(rows * out, T(9.0f)), y = hidden;

    double hidden_at(std::int64_t i, std::int64_t j) const {
        double sum = to_double(bias[j]);
        for (std::int64_t k = 0; k < in; ++k)
            sum += to_double(x[i * in + k]) * to_double(w[j * in + k]);
        return sum;
    }
    void run(Activation f, T* hidden_values) {
        CpuContext ctx(2);
        linear_activation_forward<T>(ctx, {.x = {x.data(), rows, in},
                                           .w = {w.data(), out, in},
                                           .bias = const_view_of(bias),
                                           .site = {f, {}, {}},
                                           .hidden = {hidden_values, rows, out},
                                           .y = {y.data(), rows, out}});
    }
};

}  // namespace

TEST_CASE_TEMPLATE("a layer with relu is its formula, in one matrix or in two", T, float, bf16) {
    for (const bool one_matrix : {true, false}) {
        CAPTURE(one_matrix);
        Layer<T> layer;
        layer.run(Activation::relu, one_matrix ? layer.y.data() : layer.hidden.data());
        for (std::int64_t e = 0; e < rows * out; e += 7) {
            const double hidden = layer.hidden_at(e / out, e % out);
            REQUIRE(close(to_double(layer.y[e]), std::max(hidden, 0.0), dtype_of<T>, in, 4));
            if (!one_matrix) REQUIRE(close(to_double(layer.hidden[e]), hidden, dtype_of<T>, in, 4));
        }
    }
}

TEST_CASE_TEMPLATE("a layer with relu drops what its mask names", T, float, bf16) {
    Layer<T> layer;
    StepState state;
    state.seed = 3;
    const Dropout site{0.5f, 7, &state};
    CpuContext ctx(2);
    const std::vector<std::uint32_t> row_numbers(rows, 1);
    std::vector<std::int32_t> positions(rows);
    for (std::int64_t i = 0; i < rows; ++i) positions[i] = static_cast<std::int32_t>(i);
    linear_activation_forward<T>(
        ctx,
        {.x = {layer.x.data(), rows, in},
         .w = {layer.w.data(), out, in},
         .bias = const_view_of(layer.bias),
         .site = {Activation::relu, site, {const_view_of(row_numbers), const_view_of(positions)}},
         .hidden = {layer.y.data(), rows, out},
         .y = {layer.y.data(), rows, out}});
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < out; ++j) {
            const double expected =
                std::max(layer.hidden_at(i, j), 0.0) * dropout_factor(site, 1, positions[i], j);
            REQUIRE(close(to_double(layer.y[i * out + j]), expected, dtype_of<T>, in, 8));
        }
}

TEST_CASE("a layer of other shapes is refused") {
    CpuContext ctx(2);
    const std::vector<bf16> x(rows * in), w(out * in), bias(out - 1);
    std::vector<bf16> y(rows * out);
    const auto run = [&](std::int64_t w_rows, HostView<const bf16> b, std::int64_t y_rows) {
        linear_activation_forward<bf16>(ctx, {.x = {x.data(), rows, in},
                                              .w = {w.data(), w_rows, in},
                                              .bias = b,
                                              .site = {Activation::relu, {}, {}},
                                              .hidden = {y.data(), y_rows, out},
                                              .y = {y.data(), y_rows, out}});
    };
    CHECK_NOTHROW(run(out, {}, rows));
    CHECK_THROWS_AS(run(out - 64, {}, rows), Error);
    CHECK_THROWS_AS(run(out, const_view_of(bias), rows), Error);
    CHECK_THROWS_AS(run(out, {}, rows - 1), Error);
}

TEST_CASE_TEMPLATE("a layer with relu keeps NaN", T, float, bf16) {
    Layer<T> layer;
    layer.x[0] = T(std::numeric_limits<float>::quiet_NaN());
    layer.run(Activation::relu, layer.y.data());
    CHECK(std::isnan(to_double(layer.y[0])));
    CHECK(std::isnan(to_double(layer.y[out - 1])));
    CHECK_FALSE(std::isnan(to_double(layer.y[out])));
}

TEST_CASE_TEMPLATE("a layer with gelu keeps what comes before it", T, float, bf16) {
    Layer<T> layer;
    layer.run(Activation::gelu_tanh, layer.hidden.data());
    for (std::int64_t e = 0; e < rows * out; e += 7) {
        const double x = layer.hidden_at(e / out, e % out);
        REQUIRE(close(to_double(layer.hidden[e]), x, dtype_of<T>, in, 4));
        const double at = to_double(layer.hidden[e]);
        const double u = 2 * std::sqrt(2 / std::acos(-1)) * (at + 0.044715 * at * at * at);
        REQUIRE(close(to_double(layer.y[e]), at / (1 + std::exp(-u)), dtype_of<T>, in, 4));
    }
}
