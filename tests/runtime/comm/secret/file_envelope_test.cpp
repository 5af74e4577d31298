// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/comm/secret/secret_envelope.hpp"
#include "tests/support/needs.hpp"

using namespace lockstep;
using comm::file_envelope;

TEST_CASE("a private file hands the secret to processes of this user while the envelope lives") {
    const auto other = file_envelope();
    std::string path;
    {
        const auto own = file_envelope();
        path = own->close("the secret");
        struct stat facts {};
        REQUIRE(::stat(path.c_str(), &facts) == 0);
        CHECK((facts.st_mode & 0777) == 0600);
        CHECK(other->open(path) == "the secret");
        CHECK(own->close("another") != path);
    }
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK_FALSE(other->open(path));
}

TEST_CASE("a file of another user is not opened" * doctest::test_suite(tests::needs_other_user)) {
    const auto own = file_envelope();
    const std::string path = own->close("the secret");
    REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
    CHECK_FALSE(own->open(path));
    REQUIRE(::chown(path.c_str(), 0, 0) == 0);
    CHECK(own->open(path));
}

TEST_CASE("a file that others may read, a link, a pipe and any other path are not opened") {
    const auto own = file_envelope();
    const std::string path = own->close("the secret");
    REQUIRE(::chmod(path.c_str(), 0640) == 0);
    CHECK_FALSE(own->open(path));
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    CHECK(own->open(path));
    const std::string link = path.substr(0, path.size() - 1);
    REQUIRE(::symlink(path.c_str(), link.c_str()) == 0);
    CHECK_FALSE(own->open(link));
    REQUIRE(::unlink(link.c_str()) == 0);
    REQUIRE(::mkfifo(link.c_str(), 0600) == 0);
    CHECK_FALSE(own->open(link));
    REQUIRE(::unlink(link.c_str()) == 0);
    for (const std::string other :
         {"", "/etc/passwd", "/dev/shm/lockstep-secret-", "/proc/self/environ",
          "/dev/shm/lockstep-secret-ab/../../../etc/shadow"})
        CHECK_FALSE(own->open(other));
}
