// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/gloo/peer_greeting.hpp"

#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <system_error>
#include <thread>

#include "runtime/comm/secret/hmac.hpp"
#include "runtime/comm/store/store_protocol.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

using protocol::proof_bytes;

constexpr int slice_ms = 100;             // between two looks whether the rank has given up
constexpr std::size_t max_visitors = 64;  // the oldest one goes first

enum class Side { connects, listens };

// Returns the bytes of address and port. The scope of an IPv6 address is left out, because it is a
// number of the host's own.
std::string end_of(const SocketAddress& address) {
    std::string bytes = std::to_string(address.port()) + " ";
    if (address.family() == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, &address.storage, sizeof v4);
        return bytes.append(reinterpret_cast<const char*>(&v4.sin_addr), sizeof v4.sin_addr);
    }
    sockaddr_in6 v6;
    std::memcpy(&v6, &address.storage, sizeof v6);
    return bytes.append(reinterpret_cast<const char*>(&v6.sin6_addr), sizeof v6.sin6_addr);
}

// Returns the proof that is sent on this connection: this rank's own, or the one due from the peer.
std::string proof(const FileDescriptor& socket, const PeerGreeting& greeting, Side own, Side of) {
    std::string near = end_of(local_address_of(socket)) + " rank " +
                       std::to_string(greeting.own_rank) + " " +
                       std::to_string(greeting.own_number);
    std::string far = end_of(peer_address_of(socket)) + " rank " +
                      std::to_string(greeting.peer_rank) + " " +
                      std::to_string(greeting.peer_number);
    if (own == Side::listens) std::swap(near, far);
    const std::string role = of == Side::connects ? "connects " : "listens ";
    return hmac_sha256(greeting.key, role + near + " to " + far);
}

class Deadline {
public:
    explicit Deadline(const Patience& patience)
        : patience_(patience),
          end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(patience.timeout_ms)) {}

    int left_ms() const {
        const auto left = end_ - std::chrono::steady_clock::now();
        return static_cast<int>(
            std::chrono::duration_cast<std::chrono::milliseconds>(left).count());
    }
    int slice() const { return std::clamp(left_ms(), 0, slice_ms); }
    // Throws if this rank has given up or the time is over.
    void check(int peer, int strangers) const {
        if (patience_.given_up()) throw Error(ErrorKind::peer, "this rank gave the connection up");
        if (left_ms() > 0) return;
        const std::string silent = "rank " + std::to_string(peer) + " did not answer within " +
                                   std::to_string(patience_.timeout_ms) + " ms: it hangs, or ended";
        if (strangers == 0) throw Error(ErrorKind::peer, silent);
        throw Error(ErrorKind::peer,
                    silent +
                        "; another program has connected that does not know this job's secret, or "
                        "addresses are translated on the way (NAT): use a network of the job's own "
                        "(--interface)");
    }

private:
    const Patience& patience_;
    std::chrono::steady_clock::time_point end_;
};

enum class Heard { part, proof, wrong, closed };

// Reads what has arrived of a proof, and no byte after it: those are Gloo's.
Heard hear(const FileDescriptor& socket, std::string& bytes, const std::string& expected) {
    std::array<char, proof_bytes> buffer{};
    const auto got = ::recv(socket.raw(), buffer.data(), proof_bytes - bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Heard::part;
    if (got <= 0) return Heard::closed;
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
    if (bytes.size() < proof_bytes) return Heard::part;
    return protocol::equal_proofs(bytes, expected) ? Heard::proof : Heard::wrong;
}

// The send buffer of a new connection holds a proof, so nothing has to wait.
bool show(const FileDescriptor& socket, const std::string& bytes) {
    return ::send(socket.raw(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
}

// Holds connections that have not shown a proof yet.
class Visitors {
public:
    Visitors(const FileDescriptor& listener, const PeerGreeting& greeting)
        : listener_(listener), greeting_(greeting) {}

    void wait(int timeout_ms) const {
        std::vector<pollfd> entries{{listener_.raw(), POLLIN, 0}};
        for (const Visitor& visitor : visitors_)
            entries.push_back({visitor.socket.raw(), POLLIN, 0});
        ::poll(entries.data(), entries.size(), timeout_ms);
    }

    void let_in() {
        while (true) {
            FileDescriptor socket(
                ::accept4(listener_.raw(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (!socket) return make_room(errno);
            if (visitors_.size() == max_visitors) visitors_.pop_front();
            visitors_.push_back({std::move(socket), ""});
        }
    }

    // Returns the peer's connection; it is empty if the peer has not come yet.
    FileDescriptor find_peer() {
        for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
            const FileDescriptor& socket = visitor->socket;
            const auto expected = [&](Side of) {
                return proof(socket, greeting_, Side::listens, of);
            };
            const Heard heard = hear(socket, visitor->bytes, expected(Side::connects));
            if (heard == Heard::proof && show(socket, expected(Side::listens)))
                return std::move(visitor->socket);
            strangers_ += heard == Heard::wrong ? 1 : 0;
            visitor = heard == Heard::part ? visitor + 1 : visitors_.erase(visitor);
        }
        return {};
    }
    int strangers() const noexcept { return strangers_; }

private:
    struct Visitor {
        FileDescriptor socket;
        std::string bytes;
    };

    void make_room(int failure) {
        if (failure != EMFILE && failure != ENFILE) return;
        if (visitors_.empty())
            throw Error(ErrorKind::gloo, "no connection with rank " +
                                             std::to_string(greeting_.peer_rank) + ": " +
                                             std::generic_category().message(failure) +
                                             "; allow more open files (ulimit -n)");
        visitors_.clear();
    }

    const FileDescriptor& listener_;
    const PeerGreeting& greeting_;
    std::deque<Visitor> visitors_;
    int strangers_ = 0;
};

// Returns whether the other end of a new connection is the peer. It may answer late, because a rank
// waits for its peers one after another.
bool greet(const FileDescriptor& socket, const PeerGreeting& greeting, const Deadline& deadline,
           int& strangers) {
    if (!show(socket, proof(socket, greeting, Side::connects, Side::connects))) return false;
    const std::string expected = proof(socket, greeting, Side::connects, Side::listens);
    std::string bytes;
    while (true) {
        deadline.check(greeting.peer_rank, strangers);
        if (!wait_for(socket, POLLIN, deadline.slice())) continue;
        const Heard heard = hear(socket, bytes, expected);
        if (heard == Heard::part) continue;
        if (heard != Heard::proof) ++strangers;
        return heard == Heard::proof;
    }
}

}  // namespace

FileDescriptor accept_peer(const FileDescriptor& listener, const PeerGreeting& greeting,
                           const Patience& patience) {
    const Deadline deadline(patience);
    Visitors visitors(listener, greeting);
    while (true) {
        visitors.let_in();
        if (FileDescriptor peer = visitors.find_peer()) return peer;
        deadline.check(greeting.peer_rank, visitors.strangers());
        visitors.wait(deadline.slice());
    }
}

FileDescriptor connect_peer(const SocketAddress& address, const PeerGreeting& greeting,
                            const Patience& patience) {
    constexpr int connect_ms = 3000;
    const Deadline deadline(patience);
    int strangers = 0;
    while (true) {
        auto [socket, failure] =
            try_to_connect(address, std::clamp(deadline.left_ms(), 1, connect_ms));
        if (failure != 0 && failure != ETIMEDOUT)
            throw Error(ErrorKind::peer, "rank " + std::to_string(greeting.peer_rank) +
                                             " ended, or its host cannot be reached (" +
                                             address.text() + ": " +
                                             std::generic_category().message(failure) + ")");
        if (socket && greet(socket, greeting, deadline, strangers)) return std::move(socket);
        deadline.check(greeting.peer_rank, strangers);
        std::this_thread::sleep_for(std::chrono::milliseconds(std::min(deadline.slice(), 50)));
    }
}

}  // namespace lockstep::comm
