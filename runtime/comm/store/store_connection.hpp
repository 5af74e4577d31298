// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/store/frame_seal.hpp"

namespace lockstep::comm {

// Holds the store's side of one connection, from a rank or from a stranger.
struct StoreConnection {
    FileDescriptor socket;                    // non-blocking
    std::string server_nonce;                 // part of the greeting
    std::string in, out;                      // bytes received but not yet read; bytes not yet sent
    std::optional<protocol::FrameSeal> seal;  // set once the other side has proven the secret
    int failure = 0;                          // errno of what ended the connection; 0: a close

    bool proven() const noexcept { return seal.has_value(); }

    // Returns the maximum size of a frame that the other side may send now.
    std::size_t max_frame_bytes() const noexcept;
    bool takes_more() const noexcept;
    // Read and send as much as possible without waiting; false means that the connection has ended.
    // A failure is kept, because the system tells it only once.
    bool receive();
    bool flush();

private:
    bool goes_on_after(int error) noexcept;
};

}  // namespace lockstep::comm
