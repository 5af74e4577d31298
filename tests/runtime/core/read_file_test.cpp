// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/read_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;

TEST_CASE("a file is read as it is, to its end") {
    const tests::ScratchFolder folder;
    for (const std::size_t bytes : {0, 1, 1 << 14, (1 << 15) + 7}) {
        const std::string text(bytes, '\0');
        tests::write_text(folder / "file", text);
        CHECK(read_file(folder / "file") == text);
    }
}

TEST_CASE("what cannot be opened or read is an error with its name and the reason") {
    const tests::ScratchFolder folder;
    CHECK_THROWS_WITH_AS(read_file(folder / "none"),
                         (folder / "none: cannot be read: No such file or directory").c_str(),
                         Error);
    CHECK_THROWS_WITH_AS(read_file(folder.path(), "no options"),
                         (folder.path() + ": no options: Is a directory").c_str(), Error);
}

TEST_CASE("a pipe or a device is refused instead of waited for or read without end") {
    const tests::ScratchFolder folder;
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    for (const std::string& path : {folder / "pipe", std::string("/dev/zero")})
        CHECK_THROWS_WITH_AS(read_file(path),
                             (path + ": cannot be read: not a regular file").c_str(), Error);
}

TEST_CASE("a file that is larger than any that is read whole is refused") {
    const tests::ScratchFolder folder;
    tests::write_text(folder / "large", "");
    std::filesystem::resize_file(folder / "large", largest_small_file_bytes + 1);  // takes no disk
    CHECK_THROWS_WITH_AS(read_file(folder / "large"), doctest::Contains("larger than 64 MiB"),
                         Error);
}
