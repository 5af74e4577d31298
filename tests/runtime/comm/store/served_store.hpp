// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/store/join_attempt.hpp"
#include "runtime/comm/store/store_client.hpp"
#include "runtime/comm/store/store_protocol.hpp"
#include "runtime/comm/store/store_server.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/free_port.hpp"

namespace lockstep::tests {

using namespace lockstep::comm;

inline RankInfo rank_info_of(int rank, int size, int port) {
    RankInfo rank_info = alone();
    rank_info.rank = rank;
    rank_info.size = size;
    rank_info.local_rank = rank;
    rank_info.local_size = size;
    rank_info.master_addr = "127.0.0.1";
    rank_info.master_port = port;
    return rank_info;
}

inline std::string kind_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return std::string(name(error.kind())) + ": " + error.what();
    }
    return "";
}

// A server on its own port, and the raw connections that strangers would make.
struct Served {
    explicit Served(const Secret& secret, StoreLimits limits = {})
        : address(resolve("127.0.0.1", tests::free_port()).front()) {
        std::vector<FileDescriptor> listeners;
        listeners.push_back(listen_on(address).socket);
        server = std::make_unique<StoreServer>(std::move(listeners), secret, limits);
    }
    StoreClient client(const Secret& secret, int timeout_ms = 5000) const {
        return {{address}, {port()}, secret, timeout_ms};
    }
    int port() const { return address.port(); }

    SocketAddress address;
    std::unique_ptr<StoreServer> server;
};

// Returns the bytes that arrive, at least `bytes` of them.
inline std::string receive(const FileDescriptor& socket, std::size_t bytes) {
    std::string text;
    std::array<char, 4096> buffer;
    while (text.size() < bytes && wait_for(socket, POLLIN, 5000)) {
        const auto got = ::recv(socket.raw(), buffer.data(), buffer.size(), 0);
        if (got <= 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

// Greets as a rank does, with the proof cut into pieces of `piece` bytes.
inline FileDescriptor greet(const SocketAddress& address, const Secret& secret, std::size_t piece,
                            protocol::Greeting* agreed = nullptr) {
    FileDescriptor socket = connect_to(address, 1000);
    const std::size_t length_bytes = 4;
    const auto hello =
        receive(socket, length_bytes + protocol::magic.size() + protocol::nonce_bytes);
    const auto server_nonce = hello.substr(length_bytes + protocol::magic.size());
    const protocol::Greeting greeting{server_nonce, protocol::random_nonce(), address.port()};
    const std::string proof =
        protocol::frame(greeting.client_nonce + protocol::client_proof(secret, greeting));
    for (std::size_t sent = 0; sent < proof.size(); sent += piece) {
        const std::string part = proof.substr(sent, piece);
        CHECK(::send(socket.raw(), part.data(), part.size(), MSG_NOSIGNAL) > 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(receive(socket, length_bytes + protocol::proof_bytes).size() ==
          length_bytes + protocol::proof_bytes);
    if (agreed != nullptr) *agreed = greeting;
    return socket;
}

// Returns an attempt to join that has ended.
inline JoinAttempt joined_or_not(const SocketAddress& address, const Admission& admission) {
    JoinAttempt attempt(address, admission);
    while (!attempt.outcome()) {
        pollfd entry{attempt.descriptor(), attempt.events(), 0};
        if (::poll(&entry, 1, 1'000) > 0) attempt.advance();
    }
    return attempt;
}

inline bool closed_by_peer(const FileDescriptor& socket) {
    std::array<char, 256> buffer;
    while (wait_for(socket, POLLIN, 5000)) {
        const auto got = ::recv(socket.raw(), buffer.data(), buffer.size(), 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
    }
    return false;
}

}  // namespace lockstep::tests
