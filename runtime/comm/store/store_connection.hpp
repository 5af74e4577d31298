// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/net/socket.hpp"

namespace lockstep::comm {

// Holds the store's side of one connection, from a rank or from a stranger.
struct StoreConnection {
    FileDescriptor socket;     // non-blocking
    std::string server_nonce;  // part of the greeting
    std::string in, out;       // bytes received but not yet read; bytes not yet sent
    bool proven = false;       // the other side knows the secret

    // Returns the maximum size of a frame that the other side may send now.
    std::size_t max_frame_bytes() const noexcept;
    bool takes_more() const noexcept;
    // Read and send as much as possible without waiting; false means that the connection has ended.
    bool receive();
    bool flush();
};

}  // namespace lockstep::comm
