// SPDX-License-Identifier: Apache-2.0
#include "tests/support/files.hpp"

#include <doctest/doctest.h>

using namespace lockstep::tests;

TEST_CASE("what cannot be read is empty, as with a process that ends while it is looked at") {
    const ScratchFolder folder;
    write_text(folder / "below/file", "text\n");
    CHECK(read_text(folder / "below/file") == "text\n");
    CHECK(read_text(folder / "absent").empty());
    CHECK(read_text(folder / "below").empty());  // a folder opens, but read() fails
}
