// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/net/socket.hpp"

namespace lockstep::comm {

// One rank's, or one stranger's, connection as the store sees it.
struct StoreConnection {
    FileDescriptor socket;     // non-blocking
    std::string server_nonce;  // of the greeting
    std::string in, out;       // arrived and not yet understood; not yet sent
    bool proven = false;       // knows the secret

    // The longest frame that it may send now.
    std::size_t max_frame_bytes() const noexcept;
    bool takes_more() const noexcept;
    // Reads and sends what is possible without waiting; false: the connection has ended.
    bool receive();
    bool flush();
};

}  // namespace lockstep::comm
