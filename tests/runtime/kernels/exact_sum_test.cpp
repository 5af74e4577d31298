// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/exact_sum.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "runtime/kernels/reduce.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using kernels::ExactSum;

namespace {

using Words = std::array<std::uint64_t, ExactSum::words>;

Words words_of(const ExactSum& sum) {
    Words words{};
    std::copy_n(sum.word, ExactSum::words, words.begin());
    return words;
}

Words words_of_sum(const std::vector<double>& addends) {
    ExactSum sum;
    for (const double addend : addends) sum.add(addend);
    return words_of(sum);
}

}  // namespace

TEST_CASE("an exact sum of one addend is the addend") {
    constexpr double largest = 0x1.FFFFFCp+263;  // 256 squares of the largest fp32 number
    for (const double addend :
         {0.0, 1.0, 3.0, 1.0 / 3, 0x1p-298, 0x1.8p-297, 0x1.23456789ABCDFp-245,
          0x1.23456789ABCDFp-246, 0x1.23456789ABCDFp100, largest}) {
        CAPTURE(addend);
        ExactSum sum;
        sum.add(addend);
        CHECK(sum.value() == addend);
        for (const std::uint64_t word : sum.word) CHECK(word < std::uint64_t{1} << 32);
    }
}

TEST_CASE("the smallest addend is not lost beside the largest, in whichever order") {
    const Words words = words_of_sum({0x1p260, 0x1p-298, 0x1p260});
    CHECK(words[0] == 1);
    CHECK(words == words_of_sum({0x1p-298, 0x1p260, 0x1p260}));
}

TEST_CASE("addends of all sizes have one sum in every order and every split") {
    std::mt19937 random(7);
    std::vector<double> addends;
    for (int i = 0; i < 2000; ++i)
        addends.push_back(std::ldexp(1 + std::ldexp(static_cast<double>(random()), -32),
                                     static_cast<int>(random() % 400) - 245));
    const Words all = words_of_sum(addends);
    std::shuffle(addends.begin(), addends.end(), random);
    CHECK(words_of_sum(addends) == all);
    ExactSum left, right;
    for (std::size_t i = 0; i < addends.size(); ++i) (i % 3 == 0 ? left : right).add(addends[i]);
    left += right;
    CHECK(words_of(left) == all);
}

TEST_CASE("an addend that is not finite makes the sum infinite") {
    using Limits = std::numeric_limits<double>;
    for (const double bad : {Limits::infinity(), Limits::quiet_NaN()}) {
        ExactSum sum;
        sum.add(2);
        sum.add(bad);
        CHECK(sum.value() == Limits::infinity());
    }
}

TEST_CASE("the sum of squares has the same words in one part as in several") {
    kernels::CpuContext one(1), three(3);
    const auto x = tests::random_numbers<float>(300 * 256 + 9, 5);
    const auto sum_of = [&](kernels::CpuContext& ctx, const std::vector<std::size_t>& borders) {
        ExactSum sum;
        for (std::size_t i = 1; i < borders.size(); ++i)
            kernels::add_sum_of_squares(
                ctx, view_of(x).subview(borders[i - 1], borders[i] - borders[i - 1]), {&sum, 1});
        return words_of(sum);
    };
    const Words whole = sum_of(one, {0, x.size()});
    CHECK(sum_of(three, {0, x.size()}) == whole);
    CHECK(sum_of(one, {0, 256, 70 * 256, 71 * 256, x.size()}) == whole);
    double expected = 0;
    for (const float v : x) expected += double{v} * double{v};
    ExactSum sum;
    kernels::add_sum_of_squares(one, view_of(x), {&sum, 1});
    CHECK(std::abs(sum.value() - expected) <= 1e-12 * expected);
}
