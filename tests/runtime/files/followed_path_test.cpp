// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/followed_path.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/needs.hpp"

using namespace lockstep;

TEST_CASE("links are followed to their end, whether something is there or not") {
    const tests::ScratchFolder folder;
    CHECK(followed_path(folder / "none") == folder / "none");
    tests::write_text(folder / "file", "");
    CHECK(followed_path(folder / "file") == folder / "file");
    std::filesystem::create_symlink("file", folder / "near");
    std::filesystem::create_symlink(folder / "near", folder / "far");
    std::filesystem::create_symlink("none", folder / "dangling");
    CHECK(followed_path(folder / "far") == folder / "file");
    CHECK(followed_path(folder / "dangling") == folder / "none");
    std::filesystem::create_symlink("loop", folder / "loop");
    const std::string what =
        (folder / "loop") + ": cannot be followed: Too many levels of symbolic links";
    CHECK_THROWS_WITH_AS(followed_path(folder / "loop"), what.c_str(), Error);
}

TEST_CASE("the name of a folder is at its path's end, however it was written") {
    const tests::ScratchFolder folder;
    for (const char* name : {"new", "new/", "new//", "new/.", "new/./", "new//.//"})
        CHECK(named_folder(folder / name) == folder / "new");
    CHECK(named_folder(folder / "new/..") == std::filesystem::canonical(folder.path()));
    CHECK(named_folder("new/") == "new");
    CHECK(named_folder(".") == std::filesystem::current_path());
    CHECK(named_folder("./") == std::filesystem::current_path());
    CHECK(named_folder("/") == "/");
    CHECK(named_folder("").empty());
}

TEST_CASE("another user's link is refused by its name" *
          doctest::test_suite(tests::needs_other_user)) {
    const tests::ScratchFolder folder;
    tests::write_text(folder / "file", "");
    std::filesystem::create_symlink("file", folder / "theirs");
    std::filesystem::create_symlink("theirs", folder / "ours");
    REQUIRE(::lchown((folder / "theirs").c_str(), 12345, 12345) == 0);
    const std::string what = (folder / "theirs") +
                             ": is a link that another user made, and is not followed; remove it, "
                             "or name another folder";
    CHECK_THROWS_WITH_AS(followed_path(folder / "ours"), what.c_str(), Error);
}
