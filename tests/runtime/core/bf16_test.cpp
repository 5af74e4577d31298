// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/bf16.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using lockstep::bf16;

TEST_CASE("bf16 rounds to nearest even") {
    CHECK(bf16(1.0f).bits == 0x3F80);
    CHECK(bf16(1.00390625f).bits == 0x3F80);  // half way, lower neighbour is even
    CHECK(bf16(1.01171875f).bits == 0x3F82);  // half way, upper neighbour is even
    CHECK(bf16(1.004f).bits == 0x3F81);
    CHECK(static_cast<float>(bf16(-2.5f)) == -2.5f);
}

TEST_CASE("bf16 keeps infinities and NaN") {
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(static_cast<float>(bf16(infinity)) == infinity);
    CHECK(static_cast<float>(bf16(-infinity)) == -infinity);
    CHECK(std::isnan(static_cast<float>(bf16(std::nanf("")))));
    CHECK(static_cast<float>(bf16(std::numeric_limits<float>::max())) == infinity);
}
