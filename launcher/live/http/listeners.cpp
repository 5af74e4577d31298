// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <system_error>

#include "launcher/live/http/host_names.hpp"
#include "launcher/live/http/http_server.hpp"
#include "runtime/comm/net/socket.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher::live {

namespace {

std::vector<comm::SocketAddress> addresses_of(const std::string& host) {
    if (host.empty()) return {comm::any_address(AF_INET, 0), comm::any_address(AF_INET6, 0)};
    std::vector<comm::SocketAddress> addresses;
    try {
        addresses = comm::resolve(host, 0);
    } catch (const Error&) {
        throw Error(ErrorKind::config, "--host '" + shown(host) +
                                           "': does not resolve; name an address of this host, or "
                                           "give --bind-all for all of them");
    }
    // Browsers of all kinds know the short form.
    std::stable_partition(addresses.begin(), addresses.end(),
                          [](const comm::SocketAddress& one) { return one.family() == AF_INET; });
    return addresses;
}

[[noreturn]] void refuse(int failure, const std::string& place, int port) {
    const std::string on = " on " + place;
    if (failure == EADDRINUSE)
        throw Error(ErrorKind::config, "--serve " + std::to_string(port) + ": this port" + on +
                                           " is taken by another program; name another one, or 0 "
                                           "for a free one");
    if (failure == EACCES)
        throw Error(ErrorKind::config, "--serve " + std::to_string(port) +
                                           ": only root may take a port below 1024; name another "
                                           "one, or 0 for a free one");
    if (failure == EADDRNOTAVAIL)
        throw Error(ErrorKind::config, "--host " + place +
                                           ": is no address of this host; name one, or give "
                                           "--bind-all for all of them");
    throw Error(ErrorKind::config, "--serve " + std::to_string(port) + ": cannot listen" + on +
                                       ": " + std::generic_category().message(failure));
}

std::string with_port(const comm::SocketAddress& address, int port) {
    const std::string text = address.text();
    return (address.family() == AF_INET6 ? "[" + text + "]" : text) + ":" + std::to_string(port);
}

}  // namespace

Listeners listen_for_browsers(const std::string& host, int port) {
    Listeners listeners;
    int taken = port, failure = 0;
    std::string place = host.empty() ? "this host" : shown(host);
    for (const comm::SocketAddress& address : addresses_of(host)) {
        comm::Listening listening = comm::listen_on(address.with_port(taken));
        if (!listening.socket) {
            // The port that was free in one family may be taken in the other one.
            const bool only_chosen = port == 0 && !listeners.sockets.empty();
            failure = listening.failure;
            if (failure == EADDRINUSE && !only_chosen) refuse(failure, place, port);
            continue;
        }
        taken = comm::local_address_of(listening.socket).port();
        if (listeners.sockets.empty())
            listeners.address = host.empty() ? own_host_name() + ":" + std::to_string(taken)
                                             : with_port(address, taken);
        listeners.loopback = listeners.loopback && address.loopback();
        listeners.sockets.push_back(std::move(listening.socket));
    }
    if (listeners.sockets.empty()) refuse(failure, place, port);
    return listeners;
}

}  // namespace lockstep::launcher::live
