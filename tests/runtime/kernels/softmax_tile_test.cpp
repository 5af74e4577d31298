// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/attention/softmax_tile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::kernels::cpu;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

bool without_words() {
    if (multiplies_words<float>()) return false;
    MESSAGE("skipped: this processor, or DNNL_MAX_CPU_ISA, has no products of words");
    return true;
}

// Returns so many results of write_exponentials() without scale and shift, and checks their sum.
std::vector<float> exponentials_of(std::vector<float> scores, int visible) {
    const int columns = static_cast<int>(scores.size());
    const float sum =
        write_exponentials({scores.data(), visible, columns, 1, 0, nullptr}, scores.data());
    double expected = 0;
    for (const float p : scores) expected += p;
    if (std::isfinite(expected))
        CHECK(sum == doctest::Approx(expected).epsilon(1e-6));
    else
        CHECK((sum == expected || (std::isnan(sum) && std::isnan(expected))));
    return scores;
}

}  // namespace

TEST_CASE("exponentials of scores are close to those of the standard library") {
    if (without_words()) return;
    double worst = 0;
    for (float x = -87; x < 80; x += 1.6f) {
        std::vector<float> scores;
        for (int j = 0; j < 16; ++j) scores.push_back(x + 0.1f * static_cast<float>(j));
        const auto results = exponentials_of(scores, 16);
        for (int j = 0; j < 16; ++j) {
            const double expected = std::exp(double{scores[j]});
            worst = std::max(worst, std::abs(results[j] - expected) / expected);
        }
    }
    CHECK(worst < 2e-7);
    CHECK(worst > 0);
}

TEST_CASE("extreme scores have the exponentials of their limits") {
    if (without_words()) return;
    std::vector<float> scores(16, 0.0f);
    scores[0] = -infinity;
    scores[1] = -1e30f;
    scores[2] = -104.5f;
    scores[3] = 89;
    auto results = exponentials_of(scores, 3);
    CHECK(results[0] == 0);
    CHECK(results[1] == 0);
    CHECK(results[2] == 0);
    CHECK(results[3] == 0);  // not visible
    CHECK(exponentials_of(scores, 16)[3] == infinity);
    CHECK(exponentials_of(scores, 16)[4] == 1);
    scores[5] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(exponentials_of(scores, 16)[5]));
    CHECK(exponentials_of(scores, 5)[5] == 0);
}

TEST_CASE_TEMPLATE("a row's probabilities are dropped after their sum", T, float, bf16) {
    if (without_words()) return;
    const std::vector<float> scores(32, std::log(2.0f));
    std::vector<float> factors(32, 0.0f);
    factors[1] = factors[17] = 4;
    std::vector<T> p(33, T(8.0f));
    // Each of the 18 visible ones is 2^3 / 2.
    const float sum =
        write_exponentials({scores.data(), 18, 32, 3, std::log(2.0f), factors.data()}, p.data());
    CHECK(sum == doctest::Approx(18 * 4));
    for (std::size_t j = 0; j < 32; ++j)
        CHECK(to_double(p[j]) == doctest::Approx(j == 1 || j == 17 ? 16 : 0));
    CHECK(to_double(p[32]) == 8);
}

TEST_CASE("a maximum is that of the first scores") {
    if (without_words()) return;
    std::vector<float> scores(48, 7.0f);
    for (int n = 1; n <= 33; ++n) {
        std::fill_n(scores.begin(), n, -2.0f);
        scores[n - 1] = -1;
        CHECK(maximum_of(scores.data(), n) == -1);
    }
    std::fill_n(scores.begin(), 33, -infinity);
    CHECK(maximum_of(scores.data(), 33) == -infinity);
}

TEST_CASE_TEMPLATE("dots are sums of products of any length", T, float, bf16) {
    if (without_words()) return;
    for (const std::int64_t n : {0, 1, 15, 16, 31, 32, 33, 64, 100}) {
        auto x = random_numbers<T>(n + 1, 1), y = random_numbers<T>(n + 1, 2);
        x.back() = T(std::numeric_limits<float>::quiet_NaN());
        double expected = 0;
        for (std::int64_t j = 0; j < n; ++j) expected += to_double(x[j]) * to_double(y[j]);
        CHECK(std::abs(dot_of(x.data(), y.data(), n) - expected) < 1e-5);
    }
}

TEST_CASE("a tile's probabilities and gradients are those of their formulas") {
    if (without_words()) return;
    constexpr int rows = 5, columns = 48;
    const auto scores = random_numbers<float>(rows * panel_columns, 1, 4);
    const auto products = random_numbers<float>(rows * panel_columns, 2);
    const auto factors = random_numbers<float>(rows * panel_columns, 3);
    const std::array<float, rows> log_sum_exp{0.5f, 1, 2, 3, 4}, delta{1, -1, 0.5f, 2, 0};
    for (const bool dropped : {false, true}) {
        CAPTURE(dropped);
        auto p = scores, ds = products;
        SoftmaxTile tile{rows,
                         columns,
                         p.data(),
                         ds.data(),
                         dropped ? factors.data() : nullptr,
                         {48, 17, 1, 0, -3},
                         log_sum_exp.data(),
                         delta.data(),
                         0.25f};
        softmax_backward_tile(tile);
        for (int e = 0; e < rows * panel_columns; ++e) {
            const int i = e / static_cast<int>(panel_columns);
            const int j = e % static_cast<int>(panel_columns);
            const double factor = dropped ? factors[e] : 1.0f;
            const double seen =
                j < tile.visible[i] ? std::exp(0.25 * scores[e] - log_sum_exp[i]) : 0;
            const double gradient = seen * (products[e] * factor - delta[i]) * 0.25;
            CAPTURE(e);
            REQUIRE(p[e] == doctest::Approx(j < columns ? seen * factor : scores[e]).epsilon(1e-5));
            REQUIRE(ds[e] == doctest::Approx(j < columns ? gradient : products[e]).epsilon(1e-5));
        }
    }
}

TEST_CASE_TEMPLATE("a tile becomes words and rows", T, float, bf16) {
    if (without_words()) return;
    constexpr int columns = 32;
    const auto tile = random_numbers<float>(8 * panel_columns, 1);
    for (int rows = 1; rows <= 8; ++rows) {
        CAPTURE(rows);
        std::vector<T> panel(static_cast<std::size_t>(panel_elements<T>(9)), T(9.0f));
        write_words(tile.data(), rows, columns, panel.data());
        std::vector<T> to(9 * 40, T(9.0f));
        write_rows(tile.data(), rows, columns, to.data(), 40);
        const std::int64_t words = words_of<T>(rows) * word_elements<T>;
        for (std::int64_t i = 0; i < 9; ++i)
            for (std::int64_t j = 0; j < 40; ++j) {
                const bool inside = i < rows && j < columns;
                const double value = inside ? to_double(T(tile[i * panel_columns + j])) : 0;
                REQUIRE(to_double(to[i * 40 + j]) == (inside ? value : 9));
                const double in_panel = inside ? value : i < words && j < columns ? 0 : 9;
                REQUIRE(
                    to_double(panel[(i / word_elements<T> * panel_columns + j) * word_elements<T> +
                                    i % word_elements<T>]) == in_panel);
            }
    }
}
