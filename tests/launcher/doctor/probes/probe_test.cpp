// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/probe.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "launcher/doctor/probes/deadline_io.hpp"
#include "launcher/doctor/probes/lookup.hpp"
#include "launcher/doctor/probes/probe_server.hpp"
#include "launcher/doctor/probes/run_with_timeout.hpp"
#include "tests/runtime/comm/free_port.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::launcher::doctor;
using namespace std::chrono_literals;

namespace {

constexpr int probe_ms = 3'000;

ProbeTarget target(int port, const std::string& token = "secret") {
    return {"here", "127.0.0.1", port, token};
}

}  // namespace

TEST_CASE("a host that answers is reached, and its clock compared") {
    const ProbeServer server("secret", [] { return wall_time() + 90s; });
    const Probe found = probe(target(server.port()), probe_ms);
    CHECK(found.problem.empty());
    CHECK(found.clock_ahead_s > 80);
    CHECK(found.clock_ahead_s < 100);
    CHECK(stream_rate(target(server.port()), probe_ms) > 0);
}

TEST_CASE("a port that refuses, an address without a way, a name that means nothing") {
    const int port = tests::free_port();
    CHECK(probe(target(port), probe_ms).problem ==
          "127.0.0.1 port " + std::to_string(port) +
              " refuses connections: the host answers, but nothing listens there");
    CHECK(stream_rate(target(port), probe_ms) == 0);
    CHECK(unreachable("127.0.0.1", port, probe_ms).find("refuses") != std::string::npos);
    CHECK(unreachable("no-such-host.invalid", 1, probe_ms) ==
          "the name no-such-host.invalid does not resolve");
}

TEST_CASE("who does not know the token gets no answer, and holds up nobody") {
    const ProbeServer server("secret");
    CHECK(probe(target(server.port(), "guess!"), probe_ms).problem.find("is not that host") !=
          std::string::npos);
    const auto silent = comm::connect_to(comm::resolve("127.0.0.1", server.port()).front(), 1'000);
    const auto garbage = comm::connect_to(comm::resolve("127.0.0.1", server.port()).front(), 1'000);
    const std::string text(100'000, 'x');
    send_all(garbage, text.data(), text.size(), Clock::now() + 100ms);
    CHECK(probe(target(server.port()), probe_ms).problem.empty());
}

TEST_CASE("a listener that never speaks is given up after the time-out") {
    const auto listening = comm::listen_on(comm::any_address(AF_INET, 0));
    const int port = comm::local_address_of(listening.socket).port();
    CHECK_FALSE(probe(target(port), 100).problem.empty());
    CHECK(stream_rate(target(port), 100) == 0);
}

TEST_CASE("names are looked up both ways, and an unknown one is a problem") {
    const Lookup known = look_up("localhost", "127.0.0.1", probe_ms);
    CHECK(known.problem.empty());
    CHECK_FALSE(known.addresses.empty());
    CHECK_FALSE(known.name.empty());
    CHECK_FALSE(look_up("no-such-host.invalid", "", probe_ms).problem.empty());
}

TEST_CASE("what does not end in time is left behind") {
    CHECK(run_with_timeout(5s, [] { return 7; }) == 7);
    CHECK_FALSE(run_with_timeout(1ms, [] { return std::this_thread::sleep_for(500ms), 7; }));
    CHECK_THROWS_AS(run_with_timeout(5s, []() -> int { throw std::runtime_error("x"); }),
                    std::runtime_error);
}
