// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "runtime/core/file_descriptor.hpp"

namespace lockstep::comm {

// Holds a resolved address, IPv4 or IPv6.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;

    int family() const noexcept { return storage.ss_family; }
    bool loopback() const noexcept;
    SocketAddress with_port(int port) const noexcept;
    int port() const noexcept;
    std::string text() const;  // numeric, without the port
};

// Returns all addresses of a host. Throws kind config naming the host when it does not resolve, and
// TransientFailure when no name server answers.
std::vector<SocketAddress> resolve(const std::string& host, int port);

// Tells whether a name or an address means, on every host, that host itself. The host's own name
// does not count: Debian gives it a loopback address in /etc/hosts, which other hosts do not know.
bool means_this_host(const std::string& address);

struct Listening {
    FileDescriptor socket;  // non-blocking; empty: see failure
    int failure = 0;        // errno: EADDRINUSE, EADDRNOTAVAIL ...
};
Listening listen_on(const SocketAddress& address);

struct Connecting {
    FileDescriptor socket;  // non-blocking; empty if the connection failed
    int failure = 0;        // errno: ECONNREFUSED, EHOSTUNREACH ...; 0: the socket is connected
};
// The failure is ETIMEDOUT when `timeout_ms` has passed.
Connecting try_to_connect(const SocketAddress& address, int timeout_ms);

// Does not wait: the failure is EINPROGRESS while the attempt goes on. When the socket is writable,
// connection_failure() tells how the attempt has ended.
Connecting start_to_connect(const SocketAddress& address);

// Returns the errno of an attempt to connect that has ended; 0: the socket is connected. Where
// nobody listens on a port of this host, the kernel can choose that very port for the caller's side
// and connect the socket to itself. This counts as ECONNREFUSED; the caller closes the socket, and
// the port is free at once.
int connection_failure(const FileDescriptor& socket);

// Returns only the socket; it is empty when nobody listens or `timeout_ms` passed.
FileDescriptor connect_to(const SocketAddress& address, int timeout_ms);

// Returns the wildcard address of this machine in one address family.
SocketAddress any_address(int family, int port);

SocketAddress local_address_of(const FileDescriptor& socket);
// Returns the other side's address; an empty one if the connection has ended.
SocketAddress peer_address_of(const FileDescriptor& socket);

// Waits for POLLIN or POLLOUT. Returns false after the time-out. A negative time counts as 0.
bool wait_for(const FileDescriptor& socket, short events, int timeout_ms);

}  // namespace lockstep::comm
