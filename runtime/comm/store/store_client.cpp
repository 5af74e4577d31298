// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store_client.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "runtime/comm/secret/hmac.hpp"
#include "runtime/comm/store/store_search.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

using namespace protocol;

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
    : admission_{std::move(secret), std::move(unseal)}, answer_ms_(answer_ms) {
    JoinAttempt joined = find_store(addresses, ports, admission_, timeout_ms);
    address_ = joined.address();
    secret_ = joined.secret();
    use_connection(joined);
}

void StoreClient::use_connection(JoinAttempt& joined) {
    seal_.emplace(joined.seal());
    socket_ = joined.take_socket();
    buffer_.clear();
    silent_ = false;
}

void StoreClient::reconnect(int timeout_ms) {
    const std::lock_guard lock(mutex_);
    socket_ = FileDescriptor();
    if (silent_)
        throw Error(ErrorKind::peer, "rank 0's store at " + address_.text() + " does not answer");
    JoinAttempt joined = find_store_again(address_, admission_, timeout_ms);
    use_connection(joined);
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

std::optional<Reply> StoreClient::exchange(const std::string& request,
                                           Clock::time_point& deadline) {
    std::string payload;
    const bool answered = socket_ && send_frame(seal_->sealed(request), deadline) &&
                          receive_frame(payload, max_frame_bytes, deadline) && seal_->open(payload);
    return answered ? decode_reply(payload) : std::nullopt;
}

Reply StoreClient::ask(const Request& request, int timeout_ms) {
    const std::lock_guard lock(mutex_);
    const std::string bytes = encode(request);
    require(bytes.size() + FrameSeal::tag_bytes <= max_frame_bytes,
            "a value for the store is longer than 1 MiB");
    auto deadline = in(timeout_ms + answer_ms_);
    silent_ = false;
    // After a failure the connection is closed, because a late answer on it could be taken for
    // another answer.
    std::optional<Reply> reply;
    try {
        reply = exchange(bytes, deadline);
    } catch (const std::bad_alloc&) {
        socket_ = FileDescriptor();
        throw;
    }
    if (!reply) {
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
