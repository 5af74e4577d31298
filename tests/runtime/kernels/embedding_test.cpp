// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/embedding.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using Ids = std::vector<std::int32_t>;

TEST_CASE_TEMPLATE("embedding sums token and position rows and zeroes filler", T, float, bf16) {
    CpuContext ctx(1);
    auto table = numbers<T>({1, 2, 3, 4, 5, 6}), positions = numbers<T>({0, 0, 10, 20});
    std::vector<T> y = numbers<T>({9, 9, 9, 9, 9, 9});
    const Ids tokens{2, 0, 0}, coordinates{1, 0, 0}, real{2};
    kernels::embedding_forward<T>(ctx, {.tokens = view_of(tokens),
                                        .positions = view_of(coordinates),
                                        .real = view_of(real),
                                        .scale = 2.0f,
                                        .table = matrix_of(table, 3, 2),
                                        .position_table = matrix_of(positions, 2, 2),
                                        .y = matrix_of(y, 3, 2)});
    CHECK(to_doubles(y) == std::vector<double>{20, 32, 2, 4, 0, 0});
    auto dy = numbers<T>({1, 2, 3, 4, 100, 100});
    std::vector<float> d_table(6, 1.0f);
    kernels::embedding_backward<T>(ctx, {.tokens = view_of(tokens),
                                         .real = view_of(real),
                                         .scale = 2.0f,
                                         .dy = matrix_of(dy, 3, 2),
                                         .d_table = matrix_of(d_table, 3, 2),
                                         .into = kernels::Into::add});
    CHECK(d_table == std::vector<float>{7, 9, 1, 1, 3, 5});
    std::vector<float> alone(6, NAN);
    kernels::embedding_backward<T>(ctx, {.tokens = view_of(tokens),
                                         .real = view_of(real),
                                         .scale = 2.0f,
                                         .dy = matrix_of(dy, 3, 2),
                                         .d_table = matrix_of(alone, 3, 2),
                                         .into = kernels::Into::overwrite});
    CHECK(alone == std::vector<float>{6, 8, 0, 0, 2, 4});
}

TEST_CASE_TEMPLATE("embedding and its gradient match the reference", T, float, bf16) {
    constexpr std::int64_t vocabulary = 13, count = 210, real = 200;
    Ids tokens(count), coordinates(count);
    const Ids real_tokens{real};
    for (std::size_t i = 0; i < count; ++i) {
        tokens[i] = static_cast<std::int32_t>(i * i % vocabulary);  // some tokens repeat
        coordinates[i] = static_cast<std::int32_t>(i % 7);
    }
    for (const std::int64_t d : {1, 31, 32, 33, 1000}) {
        auto table = random_numbers<T>(vocabulary * d, 1), positions = random_numbers<T>(7 * d, 2);
        auto dy = random_numbers<T>(count * d, 3);
        std::vector<T> y(static_cast<std::size_t>(count * d));
        std::vector<double> expected(static_cast<std::size_t>(vocabulary * d));
        for (std::int64_t i = 0; i < real * d; ++i) {
            const std::int64_t token = tokens[static_cast<std::size_t>(i / d)];
            expected[static_cast<std::size_t>(token * d + i % d)] +=
                3 * to_double(dy[static_cast<std::size_t>(i)]);
        }
        std::vector<float> first;
        for (const int threads : {1, 2}) {
            CpuContext ctx(threads);
            kernels::embedding_forward<T>(ctx, {.tokens = view_of(tokens),
                                                .positions = view_of(coordinates),
                                                .real = view_of(real_tokens),
                                                .scale = 3.0f,
                                                .table = matrix_of(table, vocabulary, d),
                                                .position_table = matrix_of(positions, 7, d),
                                                .y = matrix_of(y, count, d)});
            for (std::int64_t i = 0; i < count * d; ++i) {
                const auto row = static_cast<std::size_t>(i / d);
                const double token =
                    to_double(table[static_cast<std::size_t>(tokens[row] * d + i % d)]);
                const double position =
                    to_double(positions[static_cast<std::size_t>(coordinates[row] * d + i % d)]);
                REQUIRE(close(to_double(y[static_cast<std::size_t>(i)]),
                              i / d < real ? 3 * token + position : 0, dtype_of<T>));
            }
            std::vector<float> d_table(expected.size());
            kernels::embedding_backward<T>(ctx, {.tokens = view_of(tokens),
                                                 .real = view_of(real_tokens),
                                                 .scale = 3.0f,
                                                 .dy = matrix_of(dy, count, d),
                                                 .d_table = matrix_of(d_table, vocabulary, d),
                                                 .into = kernels::Into::add});
            for (std::size_t i = 0; i < expected.size(); ++i)
                REQUIRE(close(double{d_table[i]}, expected[i], Dtype::fp32, real, 3));
            if (first.empty()) first = d_table;
            CHECK(d_table == first);
        }
    }
}

TEST_CASE("embedding refuses tokens and positions that are not in its tables") {
    CpuContext ctx(1);
    std::vector<float> table(6), positions(4), y(2);
    const auto run = [&](std::int32_t token, std::int32_t place) {
        const Ids tokens{token}, coordinates{place}, real{1};
        kernels::embedding_forward<float>(ctx, {.tokens = view_of(tokens),
                                                .positions = view_of(coordinates),
                                                .real = view_of(real),
                                                .scale = 1.0f,
                                                .table = matrix_of(table, 3, 2),
                                                .position_table = matrix_of(positions, 2, 2),
                                                .y = matrix_of(y, 1, 2)});
    };
    CHECK_NOTHROW(run(2, 1));
    CHECK_THROWS_AS(run(3, 0), Error);
    CHECK_THROWS_AS(run(-1, 0), Error);
    CHECK_THROWS_AS(run(0, 2), Error);
}
