// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/fp16.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

using lockstep::fp16;

namespace {

fp16 of_bits(std::uint32_t bits) {
    fp16 value;
    value.bits = static_cast<std::uint16_t>(bits);
    return value;
}

// Decodes by the definition: sign, exponent with bias 15, ten digits.
double value_of(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31), digits = static_cast<int>(bits & 1023);
    const double magnitude =
        exponent == 0 ? std::ldexp(digits, -24) : std::ldexp(1024 + digits, exponent - 25);
    return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

}  // namespace

TEST_CASE("every finite fp16 becomes the float of its value, and comes back") {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        if ((bits & 0x7C00u) == 0x7C00u) continue;
        const auto value = static_cast<float>(of_bits(bits));
        REQUIRE(double{value} == value_of(bits));
        REQUIRE(std::signbit(value) == ((bits & 0x8000u) != 0));
        REQUIRE(fp16(value).bits == bits);
    }
}

TEST_CASE("fp16 rounds to the nearest, half way to the even one") {
    for (std::uint32_t bits = 0; bits + 1 < 0x7C00; ++bits) {
        const double low = value_of(bits), high = value_of(bits + 1);
        const auto middle = static_cast<float>((low + high) / 2);
        REQUIRE(fp16(middle).bits == (bits % 2 == 0 ? bits : bits + 1));
        REQUIRE(fp16(std::nextafterf(middle, 0.0f)).bits == bits);
        REQUIRE(fp16(std::nextafterf(middle, 1e9f)).bits == bits + 1);
        REQUIRE(fp16(-middle).bits == (fp16(middle).bits | 0x8000u));
    }
}

TEST_CASE("fp16 ends at 65504 and keeps infinities and NaN") {
    CHECK(fp16(65519.0f).bits == 0x7BFF);
    CHECK(fp16(65520.0f).bits == 0x7C00);
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(fp16(-infinity).bits == 0xFC00);
    CHECK(static_cast<float>(of_bits(0x7C00)) == infinity);
    CHECK(std::isnan(static_cast<float>(fp16(std::nanf("")))));
    CHECK(fp16(std::numeric_limits<float>::denorm_min()).bits == 0);
}
