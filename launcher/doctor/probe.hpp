// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "launcher/doctor/facts.hpp"
#include "runtime/comm/net/socket.hpp"

namespace lockstep::launcher::doctor {

using WallClock = std::function<std::chrono::nanoseconds()>;  // time since 1970
std::chrono::nanoseconds wall_time();

// Answers the other hosts' probes, on every address of this host and a port that the system
// chooses. A caller must know the token. Every connection has a time-out, so that strangers cannot
// block the server.
class ProbeServer {
public:
    explicit ProbeServer(std::string token, WallClock clock = wall_time);
    ~ProbeServer();
    ProbeServer(const ProbeServer&) = delete;
    ProbeServer& operator=(const ProbeServer&) = delete;

    int port() const noexcept { return port_; }

private:
    void serve(const std::stop_token& stop);

    std::string token_;
    WallClock clock_;
    std::vector<FileDescriptor> listeners_;
    int port_ = 0;
    std::jthread thread_;  // the last member, because it uses all of the above
};

// Another host answers at this address, and expects the token first.
struct ProbeTarget {
    std::string host, address;
    int port = 0;
    std::string token;
};

// Measures whether the target can be reached, its round-trip time and the difference of its clock.
Probe probe(const ProbeTarget& target, int timeout_ms);

// Returns the bytes per second of a plain TCP stream to the target; 0 when there is none.
double stream_rate(const ProbeTarget& target, int timeout_ms);

// Returns the bytes per second of a copy in this host's memory.
double copy_rate();

// Returns an empty string when something listens there, otherwise the reason for people to read.
std::string unreachable(const std::string& address, int port, int timeout_ms);

}  // namespace lockstep::launcher::doctor
