// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/net/socket.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/core/error.hpp"
#include "tests/support/needs.hpp"

using namespace lockstep;

namespace {

enum Ending : int { loopback = 0, elsewhere = 1, unresolved = 2, not_allowed = 77 };

// Resolves the host in a process whose machine knows no name and reaches no name server.
Ending resolve_without_names(const std::string& host) {
    const bool apart = ::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) == 0 &&
                       ::mount("/dev/null", "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
    if (!apart) return not_allowed;
    try {
        const auto addresses = comm::resolve(host, 29'500);
        const bool all = std::ranges::all_of(addresses, [](const auto& a) { return a.loopback(); });
        return all && !addresses.empty() ? loopback : elsewhere;
    } catch (const Error&) {
        return unresolved;
    }
}

int ending_in_a_child(const std::string& host) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(resolve_without_names(host));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("localhost is loopback also where no file and no name server says so" *
          doctest::test_suite(tests::needs_nameless_host)) {
    CHECK(ending_in_a_child("localhost") == loopback);
    CHECK(ending_in_a_child("some-other-host") == unresolved);
}

TEST_CASE("this host is known however it is written") {
    for (const std::string here :
         {"localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.1", "127.250.3.4", "0x7f.1",
          "::1", "0:0:0:0:0:0:0:1", "localhost.", "0.0.0.0", "::"}) {
        CAPTURE(here);
        CHECK(comm::means_this_host(here));
    }
    for (const std::string other : {"", "node7", "localhost.example", "10.0.0.1", "128.1", "::2"}) {
        CAPTURE(other);
        CHECK_FALSE(comm::means_this_host(other));
    }
}

TEST_CASE("a name is found in any case, with the last dot, and shown when it is not found") {
    for (const std::string here : {"LocalHost", "localhost."})
        CHECK(comm::resolve(here, 1).front().loopback());
    for (const std::string& wrong : {std::string("no such host\r"), std::string("a,b")}) {
        try {
            comm::resolve(wrong, 1);
            FAIL_CHECK("resolved");
        } catch (const Error& error) {
            const std::string what = error.what();
            CHECK(what.starts_with("the host of rank 0, '" + wrong.substr(0, 3)));
            CHECK(what.find('\r') == std::string::npos);
        }
    }
}

// Where nobody listens on a port, a socket that the kernel gives this very port meets itself.
TEST_CASE("a socket that is connected to itself counts as refused, and its port is free again") {
    const auto any = comm::resolve("127.0.0.1", 0).front();
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* start = reinterpret_cast<const sockaddr*>(&any.storage);
    REQUIRE(::bind(socket.raw(), start, any.length) == 0);
    const auto own = comm::local_address_of(socket);
    const auto* self = reinterpret_cast<const sockaddr*>(&own.storage);
    REQUIRE(::connect(socket.raw(), self, own.length) == 0);
    CHECK(comm::connection_failure(socket) == ECONNREFUSED);
    socket = FileDescriptor();
    CHECK(comm::listen_on(own).socket);
}

TEST_CASE("a socket that is connected to another has not failed") {
    const auto listening = comm::listen_on(comm::resolve("127.0.0.1", 0).front());
    const auto address = comm::local_address_of(listening.socket);
    const auto [socket, failure] = comm::try_to_connect(address, 1'000);
    CHECK(failure == 0);
    CHECK(comm::connection_failure(socket) == 0);
}
