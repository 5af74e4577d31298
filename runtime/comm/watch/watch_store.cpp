// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/watch/watch_store.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/store/store.hpp"
#include "runtime/comm/texts.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

struct Invitation {
    std::string secret;
    int port = 0;
    std::vector<std::string> addresses;
};

std::string encode(const Invitation& invitation) {
    std::string text = invitation.secret + " " + std::to_string(invitation.port);
    for (const auto& address : invitation.addresses) text += " " + address;
    return text;
}

Invitation decode_invitation(const std::string& text) {
    Invitation invitation;
    std::istringstream words(text);
    words >> invitation.secret >> invitation.port;
    for (std::string address; words >> address;) invitation.addresses.push_back(address);
    return invitation;
}

struct FreeInterfaces {
    void operator()(ifaddrs* list) const noexcept { ::freeifaddrs(list); }
};

// A link-local address is useless without the name of an interface, which differs between hosts.
bool link_local(const sockaddr& address) {
    return address.sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

// Returns the addresses by which other hosts may reach this one.
std::vector<SocketAddress> own_addresses(const std::string& interface) {
    ifaddrs* raw = nullptr;
    if (::getifaddrs(&raw) != 0) throw_errno("cannot list the network interfaces", host_name());
    const std::unique_ptr<ifaddrs, FreeInterfaces> list(raw);
    std::vector<SocketAddress> addresses;
    for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
        if (!interface.empty() && interface != entry->ifa_name) continue;
        SocketAddress address;
        if (entry->ifa_addr->sa_family == AF_INET) address.length = sizeof(sockaddr_in);
        if (entry->ifa_addr->sa_family == AF_INET6) address.length = sizeof(sockaddr_in6);
        if (address.length == 0 || link_local(*entry->ifa_addr)) continue;
        std::memcpy(&address.storage, entry->ifa_addr, address.length);
        if (interface.empty() && address.loopback()) continue;
        addresses.push_back(address);
    }
    return addresses.empty() ? resolve("127.0.0.1", 0) : addresses;
}

// Returns the address that the job names for rank 0 if it belongs to this host, else all addresses.
std::vector<SocketAddress> addresses_for_others(const RankInfo& rank_info,
                                                const std::string& interface) {
    auto own = own_addresses(interface);
    if (rank_info.master_addr.empty() || !interface.empty()) return own;
    std::vector<SocketAddress> named;
    for (const auto& address : resolve(rank_info.master_addr, 0)) {
        const bool here = std::any_of(own.begin(), own.end(), [&](const SocketAddress& one) {
            return one.text() == address.text();
        });
        if (here) named.push_back(address);
    }
    return named.empty() ? own : named;
}

std::pair<std::unique_ptr<StoreServer>, Invitation> serve(const RankInfo& rank_info,
                                                          const WatchPostOptions& options) {
    const bool here = rank_info.one_host() || means_this_host(rank_info.master_addr);
    const auto addresses =
        here ? resolve("127.0.0.1", 0) : addresses_for_others(rank_info, options.interface);
    Invitation invitation;
    invitation.secret = Secret::make().text();
    std::vector<FileDescriptor> listeners;
    for (const auto& address : addresses) {
        auto [socket, failure] = listen_on(address.with_port(invitation.port));
        if (!socket) continue;
        invitation.port = local_address_of(socket).port();
        listeners.push_back(std::move(socket));
        invitation.addresses.push_back(address.text());
    }
    if (listeners.empty()) {
        throw Error(ErrorKind::store, "no port is free for the watchdog on " + rank_info.host);
    }
    allow_connections(rank_info.size);
    StoreLimits limits;
    limits.unacknowledged_ms = options.timeout_ms / 2;
    limits.unproven += rank_info.size;
    auto server =
        std::make_unique<StoreServer>(std::move(listeners), Secret(invitation.secret), limits);
    return {std::move(server), std::move(invitation)};
}

}  // namespace

WatchStore open_watch_post(const RankInfo& rank_info, Communicator& communicator,
                           const WatchPostOptions& options) {
    WatchStore post;
    std::string text;
    if (rank_info.rank == 0) {
        auto [server, invitation] = serve(rank_info, options);
        post.server = std::move(server);
        text = encode(invitation);
    }
    const Invitation invitation =
        decode_invitation(broadcast_text(communicator, text, 0, "watchdog"));
    std::vector<SocketAddress> addresses;
    for (const auto& address : invitation.addresses) {
        for (const auto& resolved : resolve(address, invitation.port))
            addresses.push_back(resolved);
    }
    post.client = std::make_unique<StoreClient>(addresses, std::vector<int>{invitation.port},
                                                Secret(invitation.secret), options.timeout_ms,
                                                options.timeout_ms);
    return post;
}

}  // namespace lockstep::comm
