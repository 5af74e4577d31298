// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/lookup.hpp"

#include <netdb.h>

#include <algorithm>
#include <array>
#include <memory>

#include "launcher/doctor/probes/run_with_timeout.hpp"
#include "launcher/text/units.hpp"
#include "runtime/comm/net/socket.hpp"

namespace lockstep::launcher::doctor {

namespace {

struct FreeAddresses {
    void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

Lookup addresses_of(const std::string& host) {
    Lookup lookup;
    lookup.host = host;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int failure = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
    const std::unique_ptr<addrinfo, FreeAddresses> owner(list);
    if (failure != 0) lookup.problem = ::gai_strerror(failure);
    for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
        comm::SocketAddress address;
        address.length = entry->ai_addrlen;
        std::copy_n(reinterpret_cast<const char*>(entry->ai_addr), entry->ai_addrlen,
                    reinterpret_cast<char*>(&address.storage));
        lookup.addresses.push_back(address.text());
    }
    return lookup;
}

std::string name_of(const std::string& address) {
    if (address.empty()) return "";
    // The address is numeric, so this asks no name server.
    const auto resolved = comm::resolve(address, 0);
    std::array<char, NI_MAXHOST> name{};
    const int failure =
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&resolved.front().storage),
                      resolved.front().length, name.data(), name.size(), nullptr, 0, NI_NAMEREQD);
    return failure == 0 ? name.data() : "";
}

}  // namespace

Lookup look_up(const std::string& host, const std::string& address, int timeout_ms) {
    // A missing name server blocks a look-up for many seconds.
    const auto found = run_with_timeout(std::chrono::milliseconds(timeout_ms), [host, address] {
        Lookup lookup = addresses_of(host);
        lookup.name = name_of(address);
        if (!lookup.name.empty()) lookup.name_addresses = addresses_of(lookup.name).addresses;
        return lookup;
    });
    if (found) return *found;
    Lookup late;
    late.host = host;
    late.problem = "no answer in " + seconds_text(timeout_ms / 1e3) + " from the name server";
    return late;
}

}  // namespace lockstep::launcher::doctor
