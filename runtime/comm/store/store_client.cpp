// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store_client.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/comm/store/hmac.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

using namespace protocol;

// Limits for one port: a program that accepts a connection but does not greet is not the store. The
// first round over the ports is short because a firewall that drops packets costs the whole limit.
constexpr int first_attempt_ms = 1'000;
constexpr int attempt_ms = 5'000;

std::string why_sealed(const std::string& credential) {
    if (credential.empty())
        return "the ranks there share a secret, which this rank was not given: set LOCKSTEP_SECRET "
               "or --secret-file for this rank, too";
    const bool in_file = credential.front() == '/';
    return std::string("the store there belongs to another user or job") +
           (in_file ? ", or this rank does not see its /dev/shm and /tmp, as in a container: set "
                      "LOCKSTEP_SECRET or --secret-file for all ranks"
                    : "");
}

std::string why_refused(const std::string& credential) {
    return credential.empty()
               ? "the store there belongs to a job with another secret; give all ranks of "
                 "a job the same LOCKSTEP_SECRET or --secret-file and number of ranks, and "
                 "jobs that run at the same time a --master-port each"
               : "the ranks there were given no secret, but this one was: set LOCKSTEP_SECRET or "
                 "--secret-file for all ranks or for none";
}

int left_ms(Clock::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 86'400'000));
}

Clock::time_point in(int milliseconds) {
    return Clock::now() + std::chrono::milliseconds(milliseconds);
}

// Waits as wait_for(). Time in which the process is suspended moves the deadline: whoever answers
// may have been suspended too.
bool wait_awake(const FileDescriptor& socket, short events, Clock::time_point& deadline) {
    constexpr int piece_ms = 500;
    constexpr std::chrono::seconds too_late(1);
    while (true) {
        const int wait_ms = std::min(left_ms(deadline), piece_ms);
        const auto planned = in(wait_ms);
        if (wait_for(socket, events, wait_ms)) return true;
        const auto now = Clock::now();
        if (now - planned >= too_late) {
            deadline += now - planned;
        } else if (now >= deadline) {
            return false;
        }
    }
}

}  // namespace

StoreClient::StoreClient(const std::vector<SocketAddress>& addresses, const std::vector<int>& ports,
                         Secret secret, int timeout_ms, int answer_ms, Unseal unseal)
    : secret_(std::move(secret)), unseal_(std::move(unseal)), answer_ms_(answer_ms) {
    const auto deadline = in(timeout_ms);
    constexpr std::chrono::milliseconds longest_pause(200);
    Attempt best{Outcome::silent, "nobody listens there"};
    int limit_ms = first_attempt_ms;
    for (std::chrono::milliseconds pause(5);; pause = std::min(2 * pause, longest_pause)) {
        for (const int port : ports) {
            for (const auto& address : addresses) {
                Attempt attempt =
                    try_to_join(address.with_port(port), std::min(deadline, in(limit_ms)));
                if (attempt.outcome == Outcome::joined) {
                    address_ = address.with_port(port);
                    return;
                }
                if (attempt.outcome > best.outcome) best = std::move(attempt);
            }
        }
        limit_ms = attempt_ms;
        if (Clock::now() + pause >= deadline) break;
        std::this_thread::sleep_for(pause);
    }
    const bool refused = best.outcome == Outcome::refused;
    throw Error(
        ErrorKind::peer,
        "rank 0's store at " + addresses.front().text() + " ports " +
            std::to_string(ports.front()) + "-" + std::to_string(ports.back()) +
            (refused ? " did not let this rank in for " : " was not found in ") +
            std::to_string(timeout_ms / 1000) + " s: " + best.why +
            (refused ? "" : "; is rank 0 running, and reachable from " + host_name() + "?"));
}

StoreClient::Attempt StoreClient::try_to_join(const SocketAddress& address,
                                              Clock::time_point deadline) {
    socket_ = connect_to(address, left_ms(deadline));
    buffer_.clear();
    silent_ = false;
    if (!socket_) return {};
    std::string hello;
    const std::size_t hello_bytes = magic.size() + nonce_bytes;
    if (!receive_frame(hello, max_hello_bytes, deadline) || hello.size() < hello_bytes ||
        !hello.starts_with(magic)) {
        return {Outcome::no_store, "other programs listen there"};
    }
    return prove(address, hello, deadline);
}

StoreClient::Attempt StoreClient::prove(const SocketAddress& address, const std::string& hello,
                                        Clock::time_point deadline) {
    const std::string server_nonce = hello.substr(magic.size(), nonce_bytes);
    const std::string credential = hello.substr(magic.size() + nonce_bytes);
    if (unseal_) {
        const auto secret = unseal_(credential);
        if (!secret) return {Outcome::refused, why_sealed(credential)};
        secret_ = *secret;
    }
    const Greeting greeting{server_nonce, random_nonce(), address.port()};
    std::string welcome;
    const bool answered =
        send_frame(greeting.client_nonce + client_proof(secret_, greeting), deadline) &&
        receive_frame(welcome, max_greeting_bytes, deadline);
    if (answered && equal_proofs(welcome, server_proof(secret_, greeting))) {
        seal_.emplace(secret_, greeting, FrameSeal::Side::client);
        return {Outcome::joined, ""};
    }
    if (!answered && silent_) return {Outcome::no_store, "a store there does not answer"};
    return {Outcome::refused, unseal_ ? why_refused("") : why_refused(credential)};
}

void StoreClient::reconnect(int timeout_ms) {
    const std::lock_guard lock(mutex_);
    const auto deadline = in(timeout_ms);
    const bool silent = silent_;
    constexpr std::chrono::milliseconds pause(100);
    while (!silent && Clock::now() < deadline) {
        const auto [socket, failure] = try_to_connect(address_, left_ms(deadline));
        if (failure == ECONNREFUSED) break;
        if (socket &&
            try_to_join(address_, std::min(deadline, in(attempt_ms))).outcome == Outcome::joined)
            return;
        std::this_thread::sleep_for(pause);
    }
    socket_ = FileDescriptor();
    throw Error(ErrorKind::peer, "rank 0's store at " + address_.text() + " does not answer");
}

bool StoreClient::send_frame(const std::string& payload, Clock::time_point& deadline) {
    const std::string bytes = frame(payload);
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        if (!wait_awake(socket_, POLLOUT, deadline)) {
            silent_ = true;
            return false;
        }
        const auto count =
            ::send(socket_.raw(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
        if (count > 0) sent += static_cast<std::size_t>(count);
    }
    return true;
}

bool StoreClient::receive_frame(std::string& payload, std::size_t max_bytes,
                                Clock::time_point& deadline) {
    std::array<char, 16384> buffer;
    while (true) {
        const auto state = take_frame(buffer_, max_bytes, payload);
        if (state != FrameState::incomplete) return state == FrameState::complete;
        if (!wait_awake(socket_, POLLIN, deadline)) {
            silent_ = true;
            return false;
        }
        const auto count = ::recv(socket_.raw(), buffer.data(), buffer.size(), 0);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (count > 0) buffer_.append(buffer.data(), static_cast<std::size_t>(count));
    }
}

Reply StoreClient::ask(const Request& request, int timeout_ms) {
    const std::lock_guard lock(mutex_);
    const std::string bytes = encode(request);
    require(bytes.size() + FrameSeal::tag_bytes <= max_frame_bytes,
            "a value for the store is longer than 1 MiB");
    auto deadline = in(timeout_ms + answer_ms_);
    silent_ = false;
    std::string payload;
    std::optional<Reply> reply;
    if (socket_ && send_frame(seal_->sealed(bytes), deadline) &&
        receive_frame(payload, max_frame_bytes, deadline) && seal_->open(payload)) {
        reply = decode_reply(payload);
    }
    if (!reply) {
        // The connection is closed because a late answer on it could be taken for another answer.
        socket_ = FileDescriptor();
        throw Error(ErrorKind::peer, "the connection to rank 0's store is lost: rank 0 has ended");
    }
    if (reply->status == Status::refused) {
        throw Error(ErrorKind::store, "rank 0's store is full: cannot keep " + request.key);
    }
    return std::move(*reply);
}

void StoreClient::set(const std::string& key, const std::string& value) {
    ask({Command::set, 0, key, value}, 0);
}

std::string StoreClient::get(const std::string& key, int timeout_ms) {
    Reply reply = ask({Command::get, timeout_ms, key, ""}, timeout_ms);
    if (reply.status == Status::timed_out) {
        throw Error(ErrorKind::peer, "no rank has set " + key + " in the store within " +
                                         std::to_string(timeout_ms / 1000) +
                                         " s: a rank is missing");
    }
    return std::move(reply.value);
}

std::optional<std::string> StoreClient::find(const std::string& key, int timeout_ms) {
    Reply reply = ask({Command::get, timeout_ms, key, ""}, timeout_ms);
    if (reply.status == Status::timed_out) return std::nullopt;
    return std::move(reply.value);
}

void StoreClient::set_will(const std::string& key, const std::string& value) {
    ask({Command::will, 0, key, value}, 0);
}

std::int64_t StoreClient::add(const std::string& key, std::int64_t amount) {
    return ask({Command::add, amount, key, ""}, 0).number;
}

std::string StoreClient::key_for(const std::string& purpose) const {
    return hmac_sha256(secret_.text(), "key\n" + purpose);
}

std::string StoreClient::local_address() const {
    const std::lock_guard lock(mutex_);
    return local_address_of(socket_).text();
}

}  // namespace lockstep::comm
