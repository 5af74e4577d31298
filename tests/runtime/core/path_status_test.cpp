// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/path_status.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;

TEST_CASE("what a path is") {
    const tests::ScratchFolder folder;
    tests::write_text(folder / "file", "");
    CHECK(path_exists(folder.path()));
    CHECK(is_folder(folder.path()));
    CHECK_FALSE(is_file(folder.path()));
    CHECK(is_file(folder / "file"));
    CHECK_FALSE(is_folder(folder / "file"));
    CHECK_FALSE(path_exists(folder / "none"));
    CHECK_FALSE(path_exists(folder / "none/below"));
    CHECK_FALSE(path_exists(folder / "file/below"));
    CHECK_FALSE(path_exists(""));
}

TEST_CASE("a path that nobody can follow is an error with its name and the reason") {
    const tests::ScratchFolder folder;
    std::filesystem::create_symlink("loop", folder / "loop");
    const std::string path = folder / "loop/file";
    const std::string what = path + ": cannot be looked at: Too many levels of symbolic links";
    CHECK_THROWS_WITH_AS(path_exists(path), what.c_str(), Error);
    CHECK_THROWS_WITH_AS(is_folder(path), what.c_str(), Error);
    CHECK_THROWS_WITH_AS(is_file(path), what.c_str(), Error);
}
