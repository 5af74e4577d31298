// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/network_interface.hpp"

#include <net/if.h>
#include <sys/ioctl.h>

#include <cstdlib>

#include "runtime/comm/net/socket.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::comm {

void check_interface(const std::string& interface, const RankInfo& rank_info) {
    if (interface.empty()) return;
    const auto refuse = [&](const std::string& what) {
        throw Error(ErrorKind::config, "--interface '" + shown(interface) + "': " + rank_info.host +
                                           what + " (ip link lists its network interfaces)");
    };
    if (::if_nametoindex(interface.c_str()) == 0) refuse(" has no such network interface");
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket || ::ioctl(socket.raw(), SIOCGIFFLAGS, &request) != 0) return;
    const bool loopback = (request.ifr_flags & IFF_LOOPBACK) != 0;
    if (loopback && !rank_info.one_host()) refuse(" reaches no other host by it");
    if ((request.ifr_flags & IFF_UP) == 0) refuse(" has it switched off");
}

void tell_nccl(const std::string& interface) {
    // The equals sign asks for the exact name; otherwise NCCL takes every interface whose name
    // begins with it.
    if (!interface.empty()) ::setenv("NCCL_SOCKET_IFNAME", ("=" + interface).c_str(), 0);
}

}  // namespace lockstep::comm
