// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/rotary.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::Turn;

namespace {

// The inverse frequencies of so many pairs, as transformers calculates them.
std::vector<float> usual_frequencies(int pairs) {
    std::vector<float> frequencies;
    for (int j = 0; j < pairs; ++j)
        frequencies.push_back(
            static_cast<float>(1 / std::pow(10000.0, static_cast<double>(j) / pairs)));
    return frequencies;
}

struct RotaryShape {
    int heads, head_dim, pairs;
};

// Returns what a head's column becomes.
double turned(const std::vector<double>& head, int column, int pairs, double angle, double scale) {
    if (column >= 2 * pairs) return head[static_cast<std::size_t>(column)];
    const auto first = static_cast<std::size_t>(column % pairs);
    const double a = head[first], b = head[first + static_cast<std::size_t>(pairs)];
    return scale * (column < pairs ? a * std::cos(angle) - b * std::sin(angle)
                                   : b * std::cos(angle) + a * std::sin(angle));
}

template <class T>
void check_rotation(CpuContext& ctx, const RotaryShape& shape, float scale, Turn turn) {
    const std::vector<std::int32_t> positions{0, 1, 2, 3, 0, 7, 500, 131071};
    const auto frequencies = usual_frequencies(shape.pairs);
    const std::int64_t rows = std::ssize(positions), width = shape.heads * shape.head_dim;
    const std::int64_t stride = width + 3;
    auto x = random_numbers<T>(rows * stride, 1, 2);
    const auto before = x;
    kernels::rotate<T>(ctx, {.positions = const_view_of(positions),
                             .frequencies = const_view_of(frequencies),
                             .scale = scale,
                             .turn = turn,
                             .head_dim = shape.head_dim,
                             .x = HostMatrix<T>(x.data() + 1, rows, width, stride)});
    for (std::int64_t i = 0; i < rows; ++i) {
        CHECK(to_double(x[static_cast<std::size_t>(i * stride)]) ==
              to_double(before[static_cast<std::size_t>(i * stride)]));
        for (int h = 0; h < shape.heads; ++h) {
            const auto first = before.begin() + i * stride + 1 + h * shape.head_dim;
            const auto head = to_doubles(std::vector<T>(first, first + shape.head_dim));
            for (int c = 0; c < shape.head_dim; ++c) {
                // The angle is a product in fp32.
                const float angle =
                    shape.pairs == 0 ? 0
                                     : static_cast<float>(positions[static_cast<std::size_t>(i)]) *
                                           frequencies[static_cast<std::size_t>(c % shape.pairs)];
                const double expected =
                    turned(head, c, shape.pairs,
                           turn == Turn::forward ? double{angle} : -double{angle}, double{scale});
                const T actual =
                    x[static_cast<std::size_t>(i * stride + 1 + h * shape.head_dim + c)];
                REQUIRE(close(to_double(actual), expected, dtype_of<T>, 4, 2));
            }
        }
    }
}

}  // namespace

TEST_CASE_TEMPLATE("a rotation matches hand-computed values", T, float, bf16) {
    CpuContext ctx(1);
    // Position 1 turns the first pair, of columns 0 and 2, by a quarter; position 2 by a half. The
    // second pair turns by twice that.
    const std::vector<std::int32_t> positions{0, 1, 2};
    const auto quarter = static_cast<float>(std::numbers::pi / 2);
    const std::vector<float> frequencies{quarter, 2 * quarter};
    auto x = numbers<T>({1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5});
    kernels::rotate<T>(ctx, {.positions = const_view_of(positions),
                             .frequencies = const_view_of(frequencies),
                             .head_dim = 5,
                             .x = matrix_of(x, 3, 5)});
    const std::vector<double> expected{1, 2, 3, 4, 5, -3, -2, 1, -4, 5, -1, 2, -3, 4, 5};
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(std::abs(to_double(x[i]) - expected[i]) < 1e-6);
}

TEST_CASE_TEMPLATE("rotations equal their formula", T, float, bf16) {
    for (const int threads : {1, 2}) {
        CpuContext ctx(threads);
        for (const RotaryShape& shape : {RotaryShape{1, 2, 1},
                                         {3, 64, 32},
                                         {2, 128, 64},
                                         {2, 256, 128},
                                         {1, 300, 150},
                                         {4, 21, 10},
                                         {2, 80, 20},
                                         {3, 7, 0}})
            for (const Turn turn : {Turn::forward, Turn::backward})
                for (const float scale : {1.0f, 1.1386294f}) {
                    CAPTURE(shape.head_dim);
                    check_rotation<T>(ctx, shape, scale, turn);
                }
    }
}

TEST_CASE("the backward turn is the transposed rotation") {
    CpuContext ctx(1);
    const std::vector<std::int32_t> positions{3, 1000};
    const auto frequencies = usual_frequencies(8);
    auto x = random_numbers<float>(2 * 48, 1), y = random_numbers<float>(2 * 48, 2);
    const auto dot = [](const std::vector<float>& a, const std::vector<float>& b) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
        return sum;
    };
    const auto turn = [&](std::vector<float> values, Turn way) {
        kernels::rotate<float>(ctx, {.positions = const_view_of(positions),
                                     .frequencies = const_view_of(frequencies),
                                     .scale = 1.25f,
                                     .turn = way,
                                     .head_dim = 16,
                                     .x = matrix_of(values, 2, 48)});
        return values;
    };
    CHECK(dot(turn(x, Turn::forward), y) == doctest::Approx(dot(x, turn(y, Turn::backward))));
}

TEST_CASE_TEMPLATE("rotations have the same bits for any number of threads", T, float, bf16) {
    std::vector<std::int32_t> positions;
    for (int i = 0; i < 300; ++i) positions.push_back(i % 97);
    const auto frequencies = usual_frequencies(33);
    std::vector<T> first;
    for (const int threads : {1, 2, 3, 5}) {
        CpuContext ctx(threads);
        auto x = random_numbers<T>(300 * 4 * 66, 1);
        kernels::rotate<T>(ctx, {.positions = const_view_of(positions),
                                 .frequencies = const_view_of(frequencies),
                                 .head_dim = 66,
                                 .x = matrix_of(x, 300, 4 * 66)});
        if (first.empty()) first = x;
        CHECK(to_doubles(x) == to_doubles(first));
    }
}
