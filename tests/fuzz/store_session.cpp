// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/store_session.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>

#include "runtime/comm/store/store_client.hpp"
#include "runtime/comm/store/store_server.hpp"
#include "tests/fuzz/target.hpp"

namespace lockstep::fuzz {
namespace {

using namespace comm;
using namespace comm::protocol;

constexpr int patience_ms = 20'000;

struct RunningStore {
    Secret secret = Secret("a secret of the fuzzer");
    SocketAddress address;
    StoreServer server;

    explicit RunningStore(Listening listening = listen_on(any_address(AF_INET, 0)))
        : address(local_address_of(listening.socket)),
          server(listeners(std::move(listening)), secret, {.stored_bytes = 1u << 20}) {
        reinterpret_cast<sockaddr_in&>(address.storage).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }

    static std::vector<FileDescriptor> listeners(Listening listening) {
        std::vector<FileDescriptor> all;
        all.push_back(std::move(listening.socket));
        return all;
    }
};

// It ends with the process, which may have other threads then.
RunningStore& store() {
    static auto* only = new RunningStore;
    return *only;
}

class Session {
public:
    Session() : socket_(connect_to(store().address, patience_ms)) {
        expect(static_cast<bool>(socket_), "the store takes no connection");
        // Thousands of connections in a second would use up the ports otherwise.
        const linger reset{1, 0};
        ::setsockopt(socket_.raw(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }

    void greet() {
        const std::string hello = receive_frame();
        const Greeting greeting{hello.substr(magic.size(), nonce_bytes), random_nonce(),
                                store().address.port()};
        send(frame(greeting.client_nonce + client_proof(store().secret, greeting)));
        expect(receive_frame() == server_proof(store().secret, greeting), "no welcome");
        seal_.emplace(store().secret, greeting, FrameSeal::Side::client);
    }
    std::string sealed(std::string payload) {
        return seal_ ? seal_->sealed(std::move(payload)) : payload;
    }
    void send(const std::string& bytes) {
        // The store may have ended the connection.
        (void)::send(socket_.raw(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    void wait_for_end() {
        ::shutdown(socket_.raw(), SHUT_WR);
        while (receive()) continue;
    }

private:
    bool receive() {
        expect(wait_for(socket_, POLLIN, patience_ms), "the store does not end a connection");
        std::array<char, 4096> block;
        const auto got = ::recv(socket_.raw(), block.data(), block.size(), 0);
        if (got > 0) received_.append(block.data(), static_cast<std::size_t>(got));
        return got > 0;
    }
    std::string receive_frame() {
        std::string payload;
        while (take_frame(received_, max_frame_bytes, payload) != FrameState::complete)
            expect(receive(), "the store ends a connection without a reason");
        return payload;
    }

    FileDescriptor socket_;
    std::string received_;
    std::optional<FrameSeal> seal_;
};

std::string text(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

std::string request_of(InputReader& input) {
    Request request;
    request.command = static_cast<Command>(1 + input.number<std::uint8_t>() % 4);
    request.number = input.number<std::int64_t>();
    request.key = text(input.piece(input.number<std::uint8_t>()));
    request.value = text(input.piece(input.number<std::uint16_t>()));
    return encode(request);
}

void send_next(Session& session, InputReader& input) {
    switch (input.number<std::uint8_t>() % 4) {
        case 0:
            return session.send(text(input.piece(input.number<std::uint16_t>())));
        case 1:
            return session.send(frame(text(input.piece(input.number<std::uint16_t>()))));
        case 2:
            return session.send(
                frame(session.sealed(text(input.piece(input.number<std::uint16_t>())))));
        default:
            return session.send(frame(session.sealed(request_of(input))));
    }
}

}  // namespace

void talk_to_store(Peer peer, InputReader& input) {
    Session session;
    if (peer == Peer::with_secret) session.greet();
    while (!input.at_end()) send_next(session, input);
    session.wait_for_end();
    Session other;
    other.greet();
}

}  // namespace lockstep::fuzz
