// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/probe_server.hpp"

#include <poll.h>

#include <array>
#include <cerrno>
#include <list>

#include "launcher/doctor/probes/deadline_io.hpp"
#include "launcher/doctor/probes/probe_protocol.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher::doctor {

namespace {

using std::chrono::milliseconds;

// Answers each question with the time.
void tell_time(const FileDescriptor& socket, const WallClock& clock, Clock::time_point deadline) {
    std::byte question{};
    while (receive_all(socket, &question, 1, deadline)) {
        const std::int64_t now = clock().count();
        if (!send_all(socket, &now, sizeof now, deadline)) return;
    }
}

// Counts the bytes that arrive for a while after the first one. Bytes that the sender has handed to
// its own host may still be on the way.
void count_stream(const FileDescriptor& socket, Clock::time_point deadline) {
    std::vector<std::byte> buffer(stream_block_bytes);
    if (!comm::wait_for(socket, POLLIN, milliseconds_to(deadline))) return;
    const auto begin = Clock::now();
    StreamCount count;
    while (Clock::now() < begin + stream_time) {
        if (!comm::wait_for(socket, POLLIN, milliseconds_to(begin + stream_time))) break;
        const auto received = ::recv(socket.raw(), buffer.data(), buffer.size(), 0);
        if (received == 0) break;
        if (received > 0) count.bytes += received;
    }
    count.nanoseconds = std::chrono::nanoseconds(Clock::now() - begin).count();
    if (!send_all(socket, &count, sizeof count, deadline)) return;
    // Reads the rest first: closing the connection with unread data would reset it, and the count
    // would be lost.
    while (comm::wait_for(socket, POLLIN, milliseconds_to(deadline))) {
        const auto received = ::recv(socket.raw(), buffer.data(), buffer.size(), 0);
        if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) return;
    }
}

void attend(FileDescriptor accepted, const std::string& token, const WallClock& clock) {
    const auto deadline = Clock::now() + longest_probe;
    std::string greeting(token.size() + 1, '\0');
    if (!receive_all(accepted, greeting.data(), greeting.size(), deadline)) return;
    if (greeting.compare(0, token.size(), token) != 0) return;
    if (greeting.back() == ask_time) tell_time(accepted, clock, deadline);
    if (greeting.back() == ask_stream) count_stream(accepted, deadline);
}

}  // namespace

std::chrono::nanoseconds wall_time() { return std::chrono::system_clock::now().time_since_epoch(); }

ProbeServer::ProbeServer(std::string token, WallClock clock)
    : token_(std::move(token)), clock_(std::move(clock)) {
    for (const int family : {AF_INET, AF_INET6}) {
        auto [socket, failure] = comm::listen_on(comm::any_address(family, port_));
        if (!socket) continue;  // a host without IPv6
        port_ = comm::local_address_of(socket).port();
        listeners_.push_back(std::move(socket));
    }
    if (listeners_.empty()) throw Error(ErrorKind::io, "no port is free to listen on");
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

ProbeServer::~ProbeServer() = default;

void ProbeServer::serve(const std::stop_token& stop) {
    constexpr int look_around_ms = 50;
    std::list<std::jthread> connections;
    while (!stop.stop_requested()) {
        std::array<pollfd, 2> entries{};
        for (std::size_t i = 0; i < listeners_.size(); ++i)
            entries[i] = {listeners_[i].raw(), POLLIN, 0};
        if (::poll(entries.data(), listeners_.size(), look_around_ms) <= 0) continue;
        for (const auto& listener : listeners_) {
            FileDescriptor accepted(
                ::accept4(listener.raw(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (!accepted || connections.size() >= max_connections) continue;
            connections.emplace_back([this, accepted = std::move(accepted)]() mutable {
                attend(std::move(accepted), token_, clock_);
            });
        }
    }
}

}  // namespace lockstep::launcher::doctor
