// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "runtime/core/unique_handle.hpp"

namespace lockstep::comm {

struct DescriptorTraits {
    using Raw = int;
    static Raw null() noexcept { return -1; }
    static void destroy(Raw descriptor) noexcept;
};
using Descriptor = UniqueHandle<DescriptorTraits>;

// A resolved address, of either family.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;

    int family() const noexcept { return storage.ss_family; }
    bool loopback() const noexcept;
    SocketAddress with_port(int port) const noexcept;
    int port() const noexcept;
    std::string text() const;  // numeric, without the port
};

// All addresses of a host; throws a config error naming it when it does not resolve.
std::vector<SocketAddress> resolve(const std::string& host, int port);

struct Listening {
    Descriptor socket;  // non-blocking; empty: see failure
    int failure = 0;    // errno: EADDRINUSE, EADDRNOTAVAIL ...
};
Listening listen_on(const SocketAddress& address);

struct Connecting {
    Descriptor socket;  // connected, non-blocking; empty: see failure
    int failure = 0;    // errno: ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT after `timeout_ms` ...
};
Connecting try_to_connect(const SocketAddress& address, int timeout_ms);

// The socket alone: empty when nobody listens, or `timeout_ms` passed.
Descriptor connect_to(const SocketAddress& address, int timeout_ms);

// Every address of this machine, of one family.
SocketAddress any_address(int family, int port);

SocketAddress local_address_of(const Descriptor& socket);

// Waits for POLLIN or POLLOUT; false after the time-out. Negative times count as 0.
bool wait_for(const Descriptor& socket, short events, int timeout_ms);

}  // namespace lockstep::comm
