// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/philox.hpp"

#include <doctest/doctest.h>

using lockstep::philox;
using lockstep::PhiloxBlock;

// These are the known answers of the Random123 distribution (kat_vectors, philox4x32 with 7 and 10
// rounds).
TEST_CASE("philox gives the published known answers") {
    CHECK(philox({0, 0, 0, 0}, 0) ==
          PhiloxBlock{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
    CHECK(philox({~0u, ~0u, ~0u, ~0u}, ~0ull) ==
          PhiloxBlock{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
    CHECK(philox({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0x299f31d0a4093822ull) ==
          PhiloxBlock{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
    CHECK(philox<7>({0, 0, 0, 0}, 0) ==
          PhiloxBlock{0x5f6fb709u, 0x0d893f64u, 0x4f121f81u, 0x4f730a48u});
    CHECK(philox<7>({~0u, ~0u, ~0u, ~0u}, ~0ull) ==
          PhiloxBlock{0x5207ddc2u, 0x45165e59u, 0x4d8ee751u, 0x8c52f662u});
    CHECK(philox<7>({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0x299f31d0a4093822ull) ==
          PhiloxBlock{0x4dfccabau, 0x190a87f0u, 0xc47362bau, 0xb6b5242au});
}

TEST_CASE("a philox stream is a pure function of its key and stays below its bound") {
    lockstep::PhiloxStream a(7), b(7), c(8);
    bool differs = false;
    for (int i = 0; i < 100; ++i) {
        const auto word = a.below(10);
        CHECK(word == b.below(10));
        CHECK(word < 10);
        differs = differs || word != c.below(10);
    }
    CHECK(differs);
}
