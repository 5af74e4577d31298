// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/unicode_classes.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <initializer_list>

using namespace lockstep;

namespace {

template <class Holds>
std::size_t count(Holds&& holds) {
    std::size_t members = 0;
    for (char32_t c = 0; c < 0x110000; ++c)
        if (holds(c)) ++members;
    return members;
}

}  // namespace

// The sweep of split_pattern_test.cpp compares the members of the first four.
TEST_CASE("classes of Unicode have as many members as in tokenizers") {
    CHECK(count(data::is_letter) == 141028);
    CHECK(count(data::is_number) == 1911);
    CHECK(count(data::is_mark) == 2501);
    CHECK(count(data::is_white_space) == 25);
    CHECK(count(data::is_punctuation) == 726);
    CHECK(count(data::is_numeric) == 1924);
}

TEST_CASE("classes of single characters") {
    CHECK(data::is_letter(U'ß'));
    CHECK(data::is_letter(0x323AF));  // Unicode 15
    CHECK_FALSE(data::is_letter(U'1'));
    CHECK(data::is_number(U'²'));
    CHECK(data::is_mark(0x897));  // Unicode 16
    CHECK(data::is_white_space(0x85));
    CHECK_FALSE(data::is_white_space(0x1C));
    CHECK_FALSE(data::is_white_space(0x180E));
    CHECK(data::is_punctuation(U'$'));
    CHECK_FALSE(data::is_punctuation(U'€'));
    CHECK_FALSE(data::is_punctuation(0x2E52));  // later than Unicode 8
    CHECK(data::is_numeric(0x11DE0));           // Unicode 17
    CHECK_FALSE(data::is_number(0x11DE0));
    for (const char32_t none : {char32_t{0x110000}, char32_t{0xFFFFFFFF}, char32_t{0xD800}})
        CHECK_FALSE(data::is_letter(none));
}
