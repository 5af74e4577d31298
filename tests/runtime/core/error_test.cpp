// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/error.hpp"

#include <doctest/doctest.h>

#include <cerrno>

#include "runtime/core/view.hpp"
#include "runtime/files/hash.hpp"

using namespace lockstep;

TEST_CASE("a contract error says where the contract is") {
    try {
        require(false, "widths differ");
        FAIL("must throw");
    } catch (const Error& e) {
        CHECK(e.kind() == ErrorKind::contract);
        CHECK(std::string(e.what()).find("error_test.cpp") != std::string::npos);
        CHECK(std::string(e.what()).find("widths differ") != std::string::npos);
    }
}

TEST_CASE("a failed system call names the path and the reason") {
    errno = ENOENT;
    CHECK_THROWS_WITH_AS(throw_errno("cannot be read", "a/b"),
                         "a/b: cannot be read: No such file or directory", Error);
}

TEST_CASE("a view does not reach beyond its end") {
    int numbers[3] = {1, 2, 3};
    const HostView<int> view(numbers, 3);
    CHECK(view.subview(1, 2)[1] == 3);
    CHECK_THROWS_AS(view.subview(2, 2), Error);
}

// The expected value is printed by the xxHash project's own xxhsum for this text.
TEST_CASE("hashes are XXH3 of 64 bits, shown as 16 digits") {
    CHECK(hex(hash64("")) == "2d06800538d394c2");
    CHECK(hex(0xABCu) == "0000000000000abc");
    CHECK(hash64("a") != hash64("b"));
}
