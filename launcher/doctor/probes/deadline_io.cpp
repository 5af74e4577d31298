// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/deadline_io.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace lockstep::launcher::doctor {

int milliseconds_to(Clock::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

bool send_all(const FileDescriptor& socket, const void* data, std::size_t bytes,
              Clock::time_point deadline) {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
        if (!comm::wait_for(socket, POLLOUT, milliseconds_to(deadline))) return false;
        const auto sent = ::send(socket.raw(), next, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
        if (sent <= 0) continue;
        next += sent;
        bytes -= static_cast<std::size_t>(sent);
    }
    return true;
}

bool receive_all(const FileDescriptor& socket, void* data, std::size_t bytes,
                 Clock::time_point deadline) {
    char* next = static_cast<char*>(data);
    while (bytes > 0) {
        if (!comm::wait_for(socket, POLLIN, milliseconds_to(deadline))) return false;
        const auto received = ::recv(socket.raw(), next, bytes, 0);
        if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (received < 0) continue;
        next += received;
        bytes -= static_cast<std::size_t>(received);
    }
    return true;
}

}  // namespace lockstep::launcher::doctor
