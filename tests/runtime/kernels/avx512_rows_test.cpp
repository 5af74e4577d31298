// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/cpu/avx512/activation_rows.hpp"
#include "runtime/kernels/cpu/avx512/floats.hpp"
#include "runtime/kernels/cpu/avx512/loss_rows.hpp"
#include "runtime/kernels/cpu/avx512/norm_rows.hpp"
#include "runtime/kernels/product_library.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
namespace avx512 = lockstep::kernels::cpu::avx512;
using lockstep::kernels::cpu::Moments;
using lockstep::kernels::cpu::NormGradients;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t longest = 131;

bool not_usable() {
    if (avx512::usable()) return false;
    MESSAGE("skipped: this processor, or DNNL_MAX_CPU_ISA, has no AVX-512 with bf16");
    return true;
}

// Calls body(n) for rows of all lengths that end differently.
template <class Body>
void for_lengths(const Body& body) {
    for (std::int64_t n = 1; n <= longest; ++n) {
        CAPTURE(n);
        body(n);
    }
}

// Returns a row of nines with one element more than the function may write.
template <class T>
std::vector<T> nines(std::int64_t n) {
    return std::vector<T>(static_cast<std::size_t>(n + 1), T(9.0f));
}

template <class T, class Expected>
void check_row(const std::vector<T>& row, const Expected& expected, double slack = 1) {
    const auto n = static_cast<std::int64_t>(row.size()) - 1;
    for (std::int64_t j = 0; j < n; ++j)
        REQUIRE(close(to_double(row[j]), expected(j), dtype_of<T>, 8, slack));
    REQUIRE(to_double(row.back()) == 9);
}

bool same_bits(const std::vector<bf16>& a, const std::vector<bf16>& b) {
    return std::ranges::equal(a, b, {}, &bf16::bits, &bf16::bits);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) {
    return x * sigmoid(2 * std::sqrt(2 / std::acos(-1)) * (x + 0.044715 * x * x * x));
}

}  // namespace

TEST_CASE("rows by hand for AVX-512 are used where oneDNN may use its bf16 instructions") {
    const std::string library = kernels::product_library();
    CHECK(avx512::usable() ==
          (library.ends_with("avx512_core_bf16") || library.ends_with("avx512_core_amx")));
}

TEST_CASE("relu's backward by hand passes what was positive, and adds it to the sums") {
    if (not_usable()) return;
    for_lengths([](std::int64_t n) {
        auto y = random_numbers<bf16>(n, 1), dy = random_numbers<bf16>(n, 2);
        y[0] = bf16(0.0f);
        auto dx = nines<bf16>(n);
        auto sums = nines<float>(n);
        avx512::relu_backward_row(y.data(), dy.data(), 1.25f, dx.data(), sums.data(), n);
        check_row(dx, [&](auto j) { return to_double(y[j]) > 0 ? to_double(dy[j]) * 1.25 : 0; });
        for (std::int64_t j = 0; j < n; ++j) REQUIRE(sums[j] == 9.0f + static_cast<float>(dx[j]));
        REQUIRE(sums.back() == 9);
    });
}

TEST_CASE("gelu by hand is its formula, and its backward the derivative") {
    if (not_usable()) return;
    for_lengths([](std::int64_t n) {
        const auto x = random_numbers<bf16>(n, 1, 6), dy = random_numbers<bf16>(n, 2);
        auto y = nines<bf16>(n), dx = nines<bf16>(n);
        auto sums = nines<float>(n);
        avx512::gelu_row(x.data(), y.data(), n);
        check_row(y, [&](auto j) { return gelu(to_double(x[j])); });
        avx512::gelu_backward_row(x.data(), dy.data(), dx.data(), sums.data(), n);
        check_row(dx, [&](auto j) {
            double at = to_double(x[j]);
            return to_double(dy[j]) * central_difference(at, [&] { return gelu(at); });
        });
        for (std::int64_t j = 0; j < n; ++j) REQUIRE(sums[j] == 9.0f + static_cast<float>(dx[j]));
        REQUIRE(sums.back() == 9);
    });
    const auto extreme = numbers<bf16>({-1e4, 1e4, NAN, 0});
    std::vector<bf16> y(4);
    avx512::gelu_row(extreme.data(), y.data(), 4);
    CHECK(to_double(y[0]) == 0);
    CHECK(to_double(y[1]) == to_double(extreme[1]));
    CHECK(std::isnan(to_double(y[2])));
    CHECK(to_double(y[3]) == 0);
    // The square of 3e19 is infinite, and its slope would be.
    const auto huge = numbers<bf16>({3e19, -3e19, 1e38, -1e38, NAN});
    const auto ones = numbers<bf16>({1, 1, 1, 1, 1});
    std::vector<bf16> dx(5);
    std::vector<float> sums(5);
    avx512::gelu_backward_row(huge.data(), ones.data(), dx.data(), sums.data(), 5);
    for (const int j : {0, 2}) CHECK(to_double(dx[j]) == 1);
    for (const int j : {1, 3}) CHECK(to_double(dx[j]) == 0);
    CHECK(std::isnan(to_double(dx[4])));
}

TEST_CASE("relu's backward by hand passes nothing where the output is NaN") {
    if (not_usable()) return;
    const auto y = numbers<bf16>({NAN, 1}), dy = numbers<bf16>({2, 2});
    std::vector<bf16> dx(2);
    std::vector<float> sums(2);
    avx512::relu_backward_row(y.data(), dy.data(), 1, dx.data(), sums.data(), 2);
    CHECK(to_double(dx[0]) == 0);
    CHECK(to_double(dx[1]) == 2);
}

TEST_CASE_TEMPLATE("the largest of a row by hand is a number", T, float, bf16) {
    if (not_usable()) return;
    for_lengths([](std::int64_t n) {
        auto x = random_numbers<T>(n + 1, 1);
        for (T& v : x) v = T(static_cast<float>(to_double(v)) - 3);
        x.back() = T(9.0f);  // behind the row
        double sum = 0, largest = -infinity;
        for (std::int64_t j = 0; j < n; ++j) {
            sum += to_double(x[j]);
            largest = std::max(largest, to_double(x[j]));
        }
        auto row = avx512::largest_and_sum(x.data(), n);
        REQUIRE(row.largest == largest);
        REQUIRE(close(double{row.sum}, sum, Dtype::fp32, n, 3));
        for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
            auto y = x;
            y[at] = T(std::numeric_limits<float>::quiet_NaN());
            row = avx512::largest_and_sum(y.data(), n);
            REQUIRE_FALSE(std::isnan(row.largest));
            REQUIRE(std::isnan(row.sum));
        }
    });
}

TEST_CASE("exponentials and gradients of logits by hand are those of their formulas") {
    if (not_usable()) return;
    for_lengths([](std::int64_t n) {
        const auto x = random_numbers<float>(n, 1, 4);
        const auto narrow = random_numbers<bf16>(n, 2, 4);
        double sum = 0, narrow_sum = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            sum += std::exp(double{x[j]} - 0.5);
            narrow_sum += std::exp(to_double(narrow[j]) - 0.5);
        }
        auto y = nines<float>(n);
        CHECK(avx512::exponentiate(x.data(), y.data(), n, 0.5f) ==
              doctest::Approx(sum).epsilon(1e-6));
        check_row(y, [&](auto j) { return std::exp(double{x[j]} - 0.5); });
        CHECK(avx512::sum_of_exponentials(narrow.data(), n, 0.5f) ==
              doctest::Approx(narrow_sum).epsilon(1e-6));
        auto gradient = narrow;
        gradient.push_back(bf16(9.0f));
        avx512::gradient_row(gradient.data(), n, 0.5f, 2, 0.25f);
        check_row(gradient,
                  [&](auto j) { return 2 * std::exp(to_double(narrow[j]) - 0.5) - 0.25; });
    });
}

TEST_CASE("exponentials by hand have their limits") {
    if (not_usable()) return;
    const std::vector<float> x{-infinity, -1e30f, -104.5f, -87, 0, 88, 89, 1e30f, infinity, NAN};
    std::vector<float> y(x.size());
    const float sum = avx512::exponentiate(x.data(), y.data(), 10, 0);
    for (const int j : {0, 1, 2}) CHECK(y[j] == 0);
    CHECK(y[3] == doctest::Approx(std::exp(-87.0)));
    CHECK(y[4] == 1);
    CHECK(y[5] == doctest::Approx(std::exp(88.0)));
    for (const int j : {6, 7, 8}) CHECK(y[j] == infinity);
    CHECK(std::isnan(y[9]));
    CHECK(std::isnan(sum));
}

TEST_CASE("the norm by hand is its formula, and its backward the derivative") {
    if (not_usable()) return;
    for_lengths([](std::int64_t d) {
        const auto x = random_numbers<bf16>(d, 1), gamma = random_numbers<bf16>(d, 2),
                   beta = random_numbers<bf16>(d, 3), dy = random_numbers<bf16>(d, 4),
                   d_sum = random_numbers<bf16>(d, 5);
        double mean = 0, variance = 0;
        for (const bf16 v : x) mean += to_double(v) / static_cast<double>(d);
        for (const bf16 v : x)
            variance += std::pow(to_double(v) - mean, 2) / static_cast<double>(d);
        const double rstd = 1 / std::sqrt(variance + 1e-5);
        const auto h = [&](std::int64_t j) { return (to_double(x[j]) - mean) * rstd; };
        const auto g = [&](std::int64_t j) { return to_double(dy[j]) * to_double(gamma[j]); };

        auto y = nines<bf16>(d);
        const Moments moments =
            avx512::norm_row(x.data(), gamma.data(), beta.data(), 1e-5f, y.data(), d);
        CHECK(moments.mean == doctest::Approx(mean).epsilon(1e-5));
        CHECK(moments.rstd == doctest::Approx(rstd).epsilon(1e-5));
        check_row(
            y, [&](auto j) { return h(j) * to_double(gamma[j]) + to_double(beta[j]); }, 64);

        double mean_g = 0, mean_gh = 0;
        for (std::int64_t j = 0; j < d; ++j) {
            mean_g += g(j) / static_cast<double>(d);
            mean_gh += g(j) * h(j) / static_cast<double>(d);
        }
        auto dx = nines<bf16>(d);
        auto dgamma = nines<float>(d), dbeta = nines<float>(d), dbias = nines<float>(d);
        const bf16* const added = d % 2 == 0 ? d_sum.data() : nullptr;
        avx512::norm_backward_row({},
                                  {dy.data(), added, x.data(), gamma.data(), dx.data(), nullptr,
                                   dgamma.data(), dbeta.data(), d % 3 > 0 ? dbias.data() : nullptr},
                                  moments, d);
        check_row(
            dx,
            [&](auto j) {
                const double more = added == nullptr ? 0 : to_double(added[j]);
                return rstd * (g(j) - mean_g - h(j) * mean_gh) + more;
            },
            256);
        check_row(
            dgamma, [&](auto j) { return 9 + to_double(dy[j]) * h(j); }, 64);
        check_row(dbeta, [&](auto j) { return 9 + to_double(dy[j]); });
        for (std::int64_t j = 0; j < d; ++j)
            REQUIRE(dbias[j] == (d % 3 > 0 ? 9 + static_cast<float>(to_double(dx[j])) : 9));
        REQUIRE(dbias.back() == 9);
    });
}

TEST_CASE("the norm's rows by hand may have operands in one memory, and mask only a branch") {
    if (not_usable()) return;
    kernels::cpu::RowMask mask;
    mask.threshold = 0x60000000u;
    mask.scale = 1.6f;
    for (const std::int64_t d : {1, 16, 33, 64, 513, 1100}) {
        CAPTURE(d);
        const auto x = random_numbers<bf16>(d, 1), branch = random_numbers<bf16>(d, 2),
                   gamma = random_numbers<bf16>(d, 3);
        std::vector<bf16> sum(x), into_x(x), into_branch(branch);
        avx512::residual_row(mask, x.data(), branch.data(), sum.data(), d);
        avx512::residual_row(mask, into_x.data(), branch.data(), into_x.data(), d);
        avx512::residual_row(mask, x.data(), into_branch.data(), into_branch.data(), d);
        CHECK(same_bits(into_x, sum));
        CHECK(same_bits(into_branch, sum));

        const Moments moments{0.1f, 0.9f};
        std::vector<float> dgamma(d), dbeta(d), dbias(d);
        const auto gradient = [&](const bf16* dy, const bf16* d_sum, bf16* dx, bf16* d_branch) {
            std::ranges::fill(dbias, 0.0f);
            avx512::norm_backward_row(mask,
                                      {dy, d_sum, sum.data(), gamma.data(), dx, d_branch,
                                       dgamma.data(), dbeta.data(), dbias.data()},
                                      moments, d);
        };
        std::vector<bf16> dx(d), d_branch(d), into_dy(x), into_d_sum(branch);
        gradient(x.data(), branch.data(), dx.data(), nullptr);
        for (std::int64_t j = 0; j < d; ++j)
            REQUIRE(dbias[j] == static_cast<float>(to_double(dx[j])));
        gradient(into_dy.data(), branch.data(), into_dy.data(), d_branch.data());
        CHECK(same_bits(into_dy, dx));
        for (std::int64_t j = 0; j < d; ++j)
            REQUIRE(dbias[j] == static_cast<float>(to_double(d_branch[j])));
        gradient(x.data(), into_d_sum.data(), into_d_sum.data(), d_branch.data());
        CHECK(same_bits(into_d_sum, dx));
    }
}

// The mean times the inverse deviation is infinite behind the end of the row.
TEST_CASE("the norm's backward by hand is finite for equal huge values") {
    if (not_usable()) return;
    for (const std::int64_t d : {1, 2, 16, 17}) {
        CAPTURE(d);
        const std::vector<bf16> x(d, bf16(0x1p120f)), gamma(d, bf16(1.0f)), dy(d, bf16(1.0f));
        std::vector<bf16> y(d), dx(d);
        std::vector<float> dgamma(d), dbeta(d);
        const Moments moments =
            avx512::norm_row(x.data(), gamma.data(), gamma.data(), 1e-5f, y.data(), d);
        avx512::norm_backward_row({},
                                  {dy.data(), nullptr, x.data(), gamma.data(), dx.data(), nullptr,
                                   dgamma.data(), dbeta.data(), nullptr},
                                  moments, d);
        for (const bf16 v : dx) CHECK(to_double(v) == 0);
    }
}
