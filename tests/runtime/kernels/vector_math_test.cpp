// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/primitives/vector_math.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace lockstep;
using namespace lockstep::kernels::cpu;

TEST_CASE("exponential is within 2e-7 of the exact value over its whole range") {
    double worst = 0;
    for (double x = -86.9; x < 88.7; x += 0.00137) {
        const auto value = static_cast<float>(x);
        const double exact = std::exp(double{value});
        worst = std::max(worst, std::abs(double{exponential(value)} / exact - 1));
    }
    CHECK(worst < 2e-7);
}

TEST_CASE("exponential at its ends") {
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(exponential(0.0f) == 1.0f);
    CHECK(exponential(-infinity) == 0.0f);
    CHECK(exponential(-88.0f) == 0.0f);
    CHECK(exponential(89.0f) == infinity);
    CHECK(exponential(infinity) == infinity);
    CHECK(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("error_function and sigmoid are within 4e-7 of the exact values") {
    double worst_erf = 0, worst_sigmoid = 0;
    for (double x = -12; x < 12; x += 0.00071) {
        const auto value = static_cast<float>(x);
        const double exact = double{value};
        worst_erf = std::max(worst_erf, std::abs(double{error_function(value)} - std::erf(exact)));
        worst_sigmoid =
            std::max(worst_sigmoid, std::abs(double{sigmoid(value)} * (1 + std::exp(-exact)) - 1));
    }
    CHECK(worst_erf < 4e-7);
    CHECK(worst_sigmoid < 4e-7);
    CHECK(std::isnan(error_function(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("sine and cosine are within 1.2e-7 of the exact values, also of large angles") {
    double worst = 0;
    const auto check = [&](float value) {
        const SineCosine of = sine_cosine(value);
        worst = std::max(worst, std::abs(double{of.sine} - std::sin(double{value})));
        worst = std::max(worst, std::abs(double{of.cosine} - std::cos(double{value})));
    };
    for (double x = -20; x < 20; x += 0.00071) check(static_cast<float>(x));
    for (double x = 1; x < 0x1p30; x *= 1.00037) check(static_cast<float>(x));
    CHECK(worst < 1.2e-7);
    CHECK(sine_cosine(0).sine == 0);
    CHECK(sine_cosine(0).cosine == 1);
    CHECK(std::isnan(sine_cosine(std::numeric_limits<float>::quiet_NaN()).sine));
}

TEST_CASE("store rounds to bf16 exactly as the constructor does") {
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4093) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        bf16 stored;
        store(stored, value);
        REQUIRE(stored.bits == bf16(value).bits);
    }
}
