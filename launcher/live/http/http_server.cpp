// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/http/http_server.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace lockstep::launcher::live {

namespace {

constexpr std::size_t most_connections = 128;
constexpr int look_every_ms = 500;  // for connections that have taken too long

pollfd entry_of(int descriptor, short events) { return {descriptor, events, 0}; }

}  // namespace

HttpServer::HttpServer(Listeners listeners, Answer answer)
    : listeners_(std::move(listeners)), answer_(std::move(answer)) {}

void HttpServer::serve_until(const FileDescriptor& stop) {
    while (true) {
        std::vector<pollfd> watched{entry_of(stop.raw(), POLLIN)};
        for (const FileDescriptor& listener : listeners_.sockets)
            watched.push_back(entry_of(listener.raw(), POLLIN));
        for (const HttpConnection& connection : connections_)
            watched.push_back(entry_of(connection.descriptor(), connection.awaited_events()));
        const int patience_ms = connections_.empty() ? -1 : look_every_ms;
        if (::poll(watched.data(), watched.size(), patience_ms) < 0) continue;
        if (watched.front().revents != 0) return;
        std::size_t at = 1 + listeners_.sockets.size();
        for (HttpConnection& connection : connections_)
            if (watched[at++].revents != 0) attend(connection);
        end_the_late();
        for (std::size_t i = 0; i < listeners_.sockets.size(); ++i)
            if (watched[1 + i].revents != 0) accept_from(listeners_.sockets[i]);
    }
}

// A failure such as missing memory ends the connection that met it.
void HttpServer::attend(HttpConnection& connection) {
    try {
        connection.go_on(answer_);
    } catch (const std::exception&) {
        ::shutdown(connection.descriptor(), SHUT_RDWR);
    }
}

void HttpServer::end_the_late() {
    const auto now = HttpConnection::Clock::now();
    connections_.remove_if([now](const HttpConnection& one) { return one.is_over(now); });
}

void HttpServer::accept_from(const FileDescriptor& listener) {
    constexpr int most_at_once = 32, pause_ms = 50;
    for (int i = 0; i < most_at_once; ++i) {
        FileDescriptor socket(
            ::accept4(listener.raw(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) {
            const bool lacks = errno == EMFILE || errno == ENFILE || errno == ENOBUFS;
            if (lacks && !connections_.empty()) connections_.pop_front();
            // Without a pause the listener, which stays readable, would take a whole core.
            if (lacks) ::poll(nullptr, 0, pause_ms);
            return;
        }
        if (connections_.size() >= most_connections) connections_.pop_front();
        connections_.emplace_back(std::move(socket));
    }
}

}  // namespace lockstep::launcher::live
