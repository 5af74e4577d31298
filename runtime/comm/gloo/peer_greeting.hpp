// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/comm/net/socket.hpp"
#include "runtime/core/file_descriptor.hpp"

// Makes the connection between two ranks. One of them listens and the other connects; each shows
// that it knows the job's key before anything else is sent:
//     connecting rank: HMAC(key, "connects" ends of the connection, ranks, numbers of both)
//     listening rank:  HMAC(key, "listens" the same)
// The ends are the addresses and ports of both sides as each of them sees them. Whoever sits in
// between has two connections with different ends, so no proof can be passed on. Where addresses
// are translated on the way (NAT), both sides see different ends and refuse each other.
namespace lockstep::comm {

struct PeerGreeting {
    std::string key;  // only the ranks of the job know it
    int own_rank = 0, peer_rank = 0;
    std::int64_t own_number = 0, peer_number = 0;  // each rank draws its own for each connection
};

struct Patience {
    int timeout_ms;
    std::function<bool()> given_up;  // asked several times a second
};

// Returns the first connection to `listener` whose other end is the peer; others are closed, and
// do no harm. Throws kind peer when it does not come in time, or this rank has given up.
FileDescriptor accept_peer(const FileDescriptor& listener, const PeerGreeting& greeting,
                           const Patience& patience);

// Connects to the address at which the peer listens. Throws as above, and if nobody listens there.
FileDescriptor connect_peer(const SocketAddress& address, const PeerGreeting& greeting,
                            const Patience& patience);

}  // namespace lockstep::comm
