// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/path_status.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/needs.hpp"

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

TEST_CASE("a closed folder is told where a file in it cannot be looked at" *
          doctest::test_suite(tests::needs_other_user)) {
    const tests::ScratchFolder folder;
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
    std::filesystem::create_directories(folder / "closed/below");
    std::filesystem::permissions(folder / "closed", std::filesystem::perms::owner_all);
    std::filesystem::create_symlink("closed/below", folder / "link");
    const auto told = [](const std::string& path) -> std::string {
        try {
            return path_exists(path) ? "there" : "not there";
        } catch (const Error& error) {
            return error.what();
        }
    };
    // Whole paths would begin in a root that may be closed to others.
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    REQUIRE(::seteuid(12345) == 0);
    const std::string below = told("closed/below/file"), link = told("link"),
                      behind = told("link/file");
    REQUIRE(::seteuid(0) == 0);
    std::filesystem::current_path(before);
    const std::string reason = ": cannot be looked at: Permission denied; ";
    CHECK(below == "closed/below/file" + reason + "closed is closed to this user");
    CHECK(link == "link" + reason + "a folder behind this link is closed to this user");
    CHECK(behind == "link/file" + reason + "link is closed to this user");
}
