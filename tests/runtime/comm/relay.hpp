// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <thread>

#include "runtime/comm/net/socket.hpp"

namespace lockstep::tests {

// Takes connections to one port, one after another, and passes every byte on to another port, both
// ways.
class Relay {
public:
    Relay(const FileDescriptor& from, const comm::SocketAddress& to)
        : thread_([this, &from, to](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  if (!comm::wait_for(from, POLLIN, 20)) continue;
                  const FileDescriptor near(
                      ::accept4(from.raw(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
                  const FileDescriptor far = comm::connect_to(to, 1000);
                  while (!stop.stop_requested() && pass(near, far) && pass(far, near)) {
                  }
              }
          }) {}
    int passed_on() const noexcept { return bytes_; }

private:
    bool pass(const FileDescriptor& from, const FileDescriptor& to) {
        if (!comm::wait_for(from, POLLIN, 5)) return true;
        std::array<char, 4096> buffer;
        const auto got = ::recv(from.raw(), buffer.data(), buffer.size(), 0);
        if (got <= 0) return false;
        bytes_ += static_cast<int>(got);
        return ::send(to.raw(), buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
    }

    std::atomic<int> bytes_ = 0;
    std::jthread thread_;
};

}  // namespace lockstep::tests
