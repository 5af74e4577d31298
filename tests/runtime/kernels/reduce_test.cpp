// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/reduce.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;

TEST_CASE("sum_of_squares of small numbers is exact") {
    kernels::CpuContext ctx(1);
    const std::vector<float> x{3, -4, 0, 12};
    CHECK(kernels::sum_of_squares(ctx, view_of(x)) == 169.0);
    CHECK(kernels::sum_of_squares(ctx, {}) == 0.0);
}

TEST_CASE("sum_of_squares has the same bits for any number of threads") {
    kernels::CpuContext one(1), two(2), three(3);
    for (const std::int64_t n : {1, 31, 32, 33, 1000, 4097, 200001}) {
        const auto x = random_numbers<float>(n, 5);
        double expected = 0;
        for (const float v : x) expected += double{v} * double{v};
        const double sum = kernels::sum_of_squares(one, view_of(x));
        CHECK(std::abs(sum - expected) <= 1e-12 * expected);
        CHECK(kernels::sum_of_squares(two, view_of(x)) == sum);
        CHECK(kernels::sum_of_squares(three, view_of(x)) == sum);
    }
}

TEST_CASE("count_nonfinite finds every infinity and NaN and nothing else") {
    using Limits = std::numeric_limits<float>;
    kernels::CpuContext ctx(2);
    const std::vector<float> x{0.f,
                               -0.f,
                               1.f,
                               Limits::infinity(),
                               Limits::max(),
                               -Limits::infinity(),
                               Limits::min(),
                               Limits::quiet_NaN(),
                               Limits::denorm_min()};
    CHECK(kernels::count_nonfinite(ctx, view_of(x)) == 3);
    std::vector<float> many(100000, 1.0f);
    many[0] = many[16384] = many[99999] = Limits::quiet_NaN();
    CHECK(kernels::count_nonfinite(ctx, view_of(many)) == 3);
}

TEST_CASE("fill_zero writes every element") {
    kernels::CpuContext ctx(2);
    std::vector<float> x(100001, 1.0f);
    kernels::fill_zero(ctx, view_of(x));
    CHECK(x == std::vector<float>(100001, 0.0f));
}

TEST_CASE("cast rounds to bf16 and back") {
    kernels::CpuContext ctx(2);
    const auto x = random_numbers<float>(70001, 6, 1e3);
    std::vector<bf16> narrow(x.size());
    std::vector<float> wide(x.size()), copy(x.size());
    kernels::cast<float, bf16>(ctx, view_of(x), view_of(narrow));
    kernels::cast<bf16, float>(ctx, const_view_of(narrow), view_of(wide));
    kernels::cast<float, float>(ctx, view_of(x), view_of(copy));
    CHECK(copy == x);
    for (std::size_t i = 0; i < x.size(); ++i) {
        REQUIRE(narrow[i].bits == bf16(x[i]).bits);
        REQUIRE(wide[i] == static_cast<float>(narrow[i]));
    }
    CHECK_THROWS_AS((kernels::cast<float, float>(ctx, view_of(x), view_of(copy).subview(0, 1))),
                    Error);
}
