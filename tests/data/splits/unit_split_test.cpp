// SPDX-License-Identifier: Apache-2.0
#include "data/splits/unit_split.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

// One letter for each unit: t is test, v is valid, a dot is training.
std::string letters(const HeldOut& wanted, std::uint64_t units) {
    const UnitSplit split(wanted, units, "episodes", "f");
    std::string out;
    for (std::uint64_t i = 0; i < units; ++i) {
        const SplitPart part = split.part_of(i);
        out += part == SplitPart::train ? '.' : part == SplitPart::valid ? 'v' : 't';
    }
    return out;
}

std::uint64_t count(const std::string& text, char letter) {
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), letter));
}

}  // namespace

TEST_CASE("the units that are held out are the same on every machine") {
    CHECK(letters({.valid = 0.1, .test = 0.1}, 40) == "t.....v.....t....v...v....t......t...v..");
    CHECK(letters({.valid = 0.1, .test = 0.1, .seed = 2}, 40) ==
          "....v...t..t.....v..t.......v.....t.v...");
    CHECK(letters({.test = 0.25, .seed = 7}, 18) == "..t.t.....t...t.t.");
}

TEST_CASE("each split has exactly its share of the units, and at least one") {
    for (const std::uint64_t units : {3, 4, 10, 99, 100, 101, 1000, 1237}) {
        for (const double valid : {0.001, 0.01, 0.1, 0.33, 0.6}) {
            for (const double test : {0.0, 0.02, 0.3}) {
                CAPTURE(units);
                CAPTURE(valid);
                CAPTURE(test);
                const HeldOut wanted{.valid = valid, .test = test, .seed = units};
                const UnitSplit split(wanted, units, "episodes", "f");
                const std::string all = letters(wanted, units);
                CHECK(count(all, 'v') == split.units(SplitPart::valid));
                CHECK(count(all, 't') == split.units(SplitPart::test));
                CHECK(count(all, '.') == split.units(SplitPart::train));
                CHECK(count(all, 'v') >= 1);
                CHECK(count(all, '.') >= 1);
                CHECK((count(all, 't') >= 1) == (test > 0));
            }
        }
    }
    CHECK(count(letters({.valid = 0.01}, 100), 'v') == 1);
    CHECK(count(letters({.valid = 0.1, .test = 0.05}, 798), 'v') == 80);
    CHECK(count(letters({.valid = 0.1, .test = 0.05}, 798), 't') == 40);
}

TEST_CASE("every part of the text is represented, and the seed decides by what") {
    const std::string all = letters({.valid = 0.1}, 1000);
    for (std::size_t run = 0; run < 1000; run += 10) CHECK(count(all.substr(run, 10), 'v') == 1);
    CHECK(all != letters({.valid = 0.1, .seed = 2}, 1000));
    // The place in a run is uniform: each of ten is met, none far more than a tenth of the times.
    std::array<int, 10> places{};
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] == 'v') ++places.at(i % 10);
    for (const int place : places) {
        CHECK(place > 0);
        CHECK(place < 30);
    }
}

TEST_CASE("too few units are refused in one line") {
    CHECK_THROWS_WITH_AS(UnitSplit({.valid = 0.5}, 1, "documents", "f.txt"),
                         "f.txt: has 1 of the 2 documents that its splits need; add text, or leave "
                         "out --valid-fraction and --test-fraction",
                         Error);
    CHECK_THROWS_AS(UnitSplit({.valid = 0.1, .test = 0.1}, 2, "episodes", "f"), Error);
    CHECK(letters({.valid = 0.9}, 2).size() == 2);
}
