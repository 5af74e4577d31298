// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store_connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "runtime/comm/store/store_protocol.hpp"

namespace lockstep::comm {

namespace {

constexpr std::size_t length_bytes = sizeof(std::uint32_t);

}  // namespace

std::size_t StoreConnection::max_frame_bytes() const noexcept {
    return proven() ? protocol::max_frame_bytes : protocol::max_greeting_bytes;
}

bool StoreConnection::takes_more() const noexcept {
    return in.size() < max_frame_bytes() + length_bytes;
}

bool StoreConnection::goes_on_after(int error) noexcept {
    if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR) return true;
    failure = error;
    return false;
}

bool StoreConnection::receive() {
    const std::size_t most = max_frame_bytes() + length_bytes;
    std::array<char, 16384> buffer;
    while (in.size() < most) {
        const std::size_t room = std::min(buffer.size(), most - in.size());
        const auto got = ::recv(socket.raw(), buffer.data(), room, 0);
        if (got == 0) return false;
        if (got < 0) return goes_on_after(errno);
        in.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return true;
}

bool StoreConnection::flush() {
    while (!out.empty()) {
        const auto sent = ::send(socket.raw(), out.data(), out.size(), MSG_NOSIGNAL);
        if (sent < 0) return goes_on_after(errno);
        out.erase(0, static_cast<std::size_t>(sent));
    }
    return true;
}

}  // namespace lockstep::comm
