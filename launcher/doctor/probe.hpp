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

using WallClock = std::function<std::chrono::nanoseconds()>;  // since 1970
std::chrono::nanoseconds wall_time();

// Answers the other hosts' probes on a port that the system chooses, on every address of this host,
// to who knows the token. Every connection has a time-out, so that strangers hold up nobody.
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
    std::jthread thread_;  // last: it uses all of the above
};

// Where another host answers, and what it wants to hear first.
struct ProbeTarget {
    std::string host, address;
    int port = 0;
    std::string token;
};

// Whether it can be reached, how far, and how its clock differs.
Probe probe(const ProbeTarget& target, int timeout_ms);

// Bytes per second of a plain TCP stream to it; 0 where there is none.
double stream_rate(const ProbeTarget& target, int timeout_ms);

// Bytes per second of a copy in this host's memory.
double copy_rate();

// "" where something listens there, else why not, for people.
std::string unreachable(const std::string& address, int port, int timeout_ms);

}  // namespace lockstep::launcher::doctor
