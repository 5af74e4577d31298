// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/spin_count.hpp"

#include <doctest/doctest.h>

using namespace lockstep::launcher;

TEST_CASE("threads spin for 12 us, however long the processor pauses") {
    CHECK(spin_count(Nanoseconds(15)) == 800);
    CHECK(spin_count(Nanoseconds(24)) == 500);
    CHECK(spin_count(Nanoseconds(60)) == 200);
}

TEST_CASE("pauses that cannot be are taken for the shortest and the longest") {
    CHECK(spin_count(Nanoseconds(0)) == 2000);
    CHECK(spin_count(Nanoseconds(1e9)) == 100);
}

TEST_CASE("a pause takes some time") { CHECK(measured_pause().count() > 0); }
