// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/net/socket.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/core/printable.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep::comm {

namespace {

const sockaddr* generic(const SocketAddress& address) noexcept {
    return reinterpret_cast<const sockaddr*>(&address.storage);
}

std::size_t port_offset(const SocketAddress& address) noexcept {
    return address.family() == AF_INET ? offsetof(sockaddr_in, sin_port)
                                       : offsetof(sockaddr_in6, sin6_port);
}

FileDescriptor open_socket(int family) {
    FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (socket) ::setsockopt(socket.raw(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
}

// Names are the same in any case, and with the dot of the whole network at their end.
bool is_localhost(std::string name) {
    if (name.ends_with('.')) name.pop_back();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name == "localhost" || name.ends_with(".localhost");
}

bool means_any(const SocketAddress& address) {
    if (address.family() == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, &address.storage, sizeof v4);
        return v4.sin_addr.s_addr == INADDR_ANY;
    }
    sockaddr_in6 v6;
    std::memcpy(&v6, &address.storage, sizeof v6);
    return IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) != 0;
}

bool same(const SocketAddress& a, const SocketAddress& b) {
    return a.length == b.length && std::memcmp(&a.storage, &b.storage, a.length) == 0;
}

}  // namespace

bool SocketAddress::loopback() const noexcept {
    if (family() == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, &storage, sizeof v4);
        return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
    }
    sockaddr_in6 v6;
    std::memcpy(&v6, &storage, sizeof v6);
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
}

SocketAddress SocketAddress::with_port(int port) const noexcept {
    SocketAddress result = *this;
    const in_port_t bits = htons(static_cast<std::uint16_t>(port));
    auto* bytes = reinterpret_cast<std::byte*>(&result.storage);
    std::memcpy(bytes + port_offset(*this), &bits, sizeof bits);
    return result;
}

int SocketAddress::port() const noexcept {
    in_port_t bits = 0;
    const auto* bytes = reinterpret_cast<const std::byte*>(&storage);
    std::memcpy(&bits, bytes + port_offset(*this), sizeof bits);
    return ntohs(bits);
}

std::string SocketAddress::text() const {
    std::array<char, NI_MAXHOST> host{};
    const int failure =
        ::getnameinfo(generic(*this), length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
    return failure == 0 ? std::string(host.data()) : std::string();
}

std::vector<SocketAddress> resolve(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const auto look_up = [&](const char* name) {
        return ::getaddrinfo(name, std::to_string(port).c_str(), &hints, &list);
    };
    // A null name means loopback, even if no /etc/hosts defines localhost, as in some machine
    // images.
    int failure = look_up(is_localhost(host) ? nullptr : host.c_str());
    // /etc/hosts has its names without the last dot.
    if (failure != 0 && host.size() > 1 && host.ends_with('.'))
        failure = look_up(host.substr(0, host.size() - 1).c_str());
    if (failure != 0) {
        const std::string what = "the host of rank 0, '" + shown(host) + "', does not resolve (" +
                                 ::gai_strerror(failure) + "): give its address by --master-addr";
        // The name server did not answer, which says nothing about the name.
        if (failure == EAI_AGAIN) throw TransientFailure(what, EAGAIN);
        throw Error(ErrorKind::config, what);
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, ::freeaddrinfo);
    std::vector<SocketAddress> result;
    for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
        SocketAddress address;
        address.length = entry->ai_addrlen;
        std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
        result.push_back(address);
    }
    return result;
}

bool means_this_host(const std::string& address) {
    if (is_localhost(address)) return true;
    // A number may be written in several ways: 127.1 is 127.0.0.1.
    addrinfo hints{}, *list = nullptr;
    hints.ai_flags = AI_NUMERICHOST;
    if (::getaddrinfo(address.c_str(), nullptr, &hints, &list) != 0) return false;
    SocketAddress found;
    found.length = list->ai_addrlen;
    std::memcpy(&found.storage, list->ai_addr, list->ai_addrlen);
    ::freeaddrinfo(list);
    return found.loopback() || means_any(found);
}

Listening listen_on(const SocketAddress& address) {
    FileDescriptor socket = open_socket(address.family());
    if (!socket) return {{}, errno};
    const int on = 1;
    // The option makes a port in TIME_WAIT after an earlier job free. A port with a listener stays
    // taken.
    ::setsockopt(socket.raw(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6) {
        ::setsockopt(socket.raw(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    const bool listens = ::bind(socket.raw(), generic(address), address.length) == 0 &&
                         ::listen(socket.raw(), SOMAXCONN) == 0;
    if (!listens) return {{}, errno};
    return {std::move(socket), 0};
}

Connecting start_to_connect(const SocketAddress& address) {
    FileDescriptor socket = open_socket(address.family());
    if (!socket) return {{}, errno};
    const bool connected = ::connect(socket.raw(), generic(address), address.length) == 0;
    const int failure = connected ? connection_failure(socket) : errno;
    if (failure != 0 && failure != EINPROGRESS) socket = FileDescriptor();
    return {std::move(socket), failure};
}

int connection_failure(const FileDescriptor& socket) {
    int failure = 0;
    socklen_t length = sizeof failure;
    if (::getsockopt(socket.raw(), SOL_SOCKET, SO_ERROR, &failure, &length) != 0) return errno;
    if (failure != 0 || !same(local_address_of(socket), peer_address_of(socket))) return failure;
    // Closing would keep the port for a minute, and whoever is waited for may want to listen on it.
    const linger reset_at_close{1, 0};
    ::setsockopt(socket.raw(), SOL_SOCKET, SO_LINGER, &reset_at_close, sizeof reset_at_close);
    return ECONNREFUSED;
}

Connecting try_to_connect(const SocketAddress& address, int timeout_ms) {
    auto [socket, failure] = start_to_connect(address);
    if (failure == EINPROGRESS)
        failure = wait_for(socket, POLLOUT, timeout_ms) ? connection_failure(socket) : ETIMEDOUT;
    if (failure != 0) return {{}, failure};
    return {std::move(socket), 0};
}

FileDescriptor connect_to(const SocketAddress& address, int timeout_ms) {
    return try_to_connect(address, timeout_ms).socket;
}

SocketAddress any_address(int family, int port) {
    SocketAddress address;
    address.storage.ss_family = static_cast<sa_family_t>(family);
    address.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    return address.with_port(port);
}

SocketAddress local_address_of(const FileDescriptor& socket) {
    SocketAddress address;
    address.length = sizeof address.storage;
    ::getsockname(socket.raw(), reinterpret_cast<sockaddr*>(&address.storage), &address.length);
    return address;
}

SocketAddress peer_address_of(const FileDescriptor& socket) {
    SocketAddress address;
    address.length = sizeof address.storage;
    if (::getpeername(socket.raw(), reinterpret_cast<sockaddr*>(&address.storage),
                      &address.length) != 0)
        return {};
    return address;
}

bool wait_for(const FileDescriptor& socket, short events, int timeout_ms) {
    pollfd entry{socket.raw(), events, 0};
    return ::poll(&entry, 1, std::max(timeout_ms, 0)) > 0;
}

}  // namespace lockstep::comm
