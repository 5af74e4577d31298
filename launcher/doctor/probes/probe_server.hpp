// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

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

}  // namespace lockstep::launcher::doctor
