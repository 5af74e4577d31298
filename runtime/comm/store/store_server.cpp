// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store_server.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

using namespace protocol;

constexpr std::uint64_t stop_id = 0;
constexpr std::uint64_t first_listener_id = 1;

void queue(StoreConnection& connection, const Reply& reply) {
    connection.out += frame(connection.seal->sealed(encode(reply)));
}

int control(const FileDescriptor& epoll, int operation, const FileDescriptor& descriptor,
            std::uint32_t events, std::uint64_t id) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = id;
    return ::epoll_ctl(epoll.raw(), operation, descriptor.raw(), &event);
}

}  // namespace

StoreServer::StoreServer(std::vector<FileDescriptor> listeners, Secret secret, StoreLimits limits,
                         std::string credential)
    : listeners_(std::move(listeners)),
      secret_(std::move(secret)),
      credential_(std::move(credential)),
      limits_(limits),
      values_(limits.stored_bytes),
      next_id_(first_listener_id + listeners_.size()),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!stop_ || !epoll_) throw_errno("cannot make an event", "store");
    bool watched = control(epoll_, EPOLL_CTL_ADD, stop_, EPOLLIN, stop_id) == 0;
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
        watched = watched && control(epoll_, EPOLL_CTL_ADD, listeners_[i], EPOLLIN,
                                     first_listener_id + i) == 0;
    }
    if (!watched) throw_errno("cannot watch for connections", "store");
    thread_ = std::thread([this] { loop(); });
}

StoreServer::~StoreServer() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(stop_.raw(), &one, sizeof one);
    thread_.join();
}

void StoreServer::loop() {
    constexpr std::chrono::milliseconds pause(100);  // time until memory may be free again
    while (!stopped_) {
        try {
            attend_all();
        } catch (const std::exception&) {
            std::this_thread::sleep_for(pause);
        }
    }
}

void StoreServer::attend_all() {
    std::array<epoll_event, 256> events;
    const int count = ::epoll_wait(epoll_.raw(), events.data(), static_cast<int>(events.size()),
                                   milliseconds_to_next_deadline());
    for (int i = 0; i < count && !stopped_; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        handle(event.data.u64, event.events);
    }
    end_expired();
    execute_wills();
}

// A failure such as missing memory ends the connection that met it. The other ranks' connections go
// on, and the one that was ended may come back.
void StoreServer::handle(std::uint64_t id, std::uint32_t events) {
    if (id == stop_id) {
        stopped_ = true;
        return;
    }
    try {
        if (id < first_listener_id + listeners_.size()) {
            accept_all(listeners_[id - first_listener_id]);
        } else {
            attend(id, events);
        }
    } catch (const std::exception&) {
        forget(id);
    }
}

void StoreServer::forget(Id id) {
    const auto entry = connections_.find(id);
    if (entry == connections_.end()) return;
    entry->second.will_value = broken;
    end(entry->second);
}

int StoreServer::milliseconds_to_next_deadline() const {
    constexpr int idle_ms = 60'000;
    const auto now = Clock::now();
    auto next = now + std::chrono::milliseconds(idle_ms);
    if (!deadlines_.empty()) next = std::min(next, deadlines_.begin()->first);
    if (listens_again_) next = std::min(next, *listens_again_);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, idle_ms));
}

void StoreServer::watch_listeners(std::uint32_t events) {
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
        control(epoll_, EPOLL_CTL_MOD, listeners_[i], events, first_listener_id + i);
    }
}

void StoreServer::accept_all(const FileDescriptor& listener) {
    constexpr std::chrono::milliseconds pause(100);  // time until descriptors may be free again
    while (true) {
        FileDescriptor socket(
            ::accept4(listener.raw(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) {
            if (errno != EMFILE && errno != ENFILE) return;
            if (end_oldest_unproven()) continue;
            listens_again_ = Clock::now() + pause;
            return watch_listeners(0);
        }
        welcome(std::move(socket));
    }
}

// Descriptors that strangers hold are missing elsewhere in this process.
bool StoreServer::end_oldest_unproven() {
    if (unproven_.empty()) return false;
    end(connections_.at(*unproven_.begin()));
    return true;
}

void StoreServer::welcome(FileDescriptor socket) {
    if (std::ssize(unproven_) >= limits_.unproven) end_oldest_unproven();
    const std::string nonce = random_nonce();
    const Id id = next_id_++;
    Connection& connection = connections_[id];
    connection.id = id;
    connection.socket = std::move(socket);
    try {
        unproven_.insert(id);
        limit_silence(connection.socket);
        connection.server_nonce = nonce;
        connection.out = frame(std::string(magic) + nonce + credential_);
        set_deadline(connection, Clock::now() + std::chrono::milliseconds(limits_.greeting_ms));
        if (connection.flush()) return watch(connection, EPOLL_CTL_ADD);
    } catch (const std::exception&) {
        // The other side tries again.
    }
    end(connection);
}

// A host without power sends no farewell, and the system alone would wait for a quarter of an hour.
void StoreServer::limit_silence(const FileDescriptor& socket) const {
    if (limits_.unacknowledged_ms <= 0) return;
    const int on = 1, probe_s = std::max(1, limits_.unacknowledged_ms / 4'000);
    const auto limit_ms = static_cast<unsigned>(limits_.unacknowledged_ms);
    ::setsockopt(socket.raw(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(socket.raw(), IPPROTO_TCP, TCP_KEEPIDLE, &probe_s, sizeof probe_s);
    ::setsockopt(socket.raw(), IPPROTO_TCP, TCP_KEEPINTVL, &probe_s, sizeof probe_s);
    ::setsockopt(socket.raw(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
}

void StoreServer::note_failure(Connection& connection) {
    socklen_t size = sizeof connection.failure;
    ::getsockopt(connection.socket.raw(), SOL_SOCKET, SO_ERROR, &connection.failure, &size);
}

// Another failure, such as EPIPE, comes after the other side has closed the connection.
void StoreServer::execute_will(Connection& connection) {
    if (connection.will_key.empty()) return;
    const int failure = connection.failure;
    if (failure == ECONNRESET) connection.will_value = broken;
    if (failure == ETIMEDOUT || failure == EHOSTUNREACH || failure == ENETUNREACH)
        connection.will_value = unacknowledged;
    wills_[connection.will_key] = std::move(connection.will_value);
}

void StoreServer::attend(Id id, std::uint32_t events) {
    const auto entry = connections_.find(id);
    if (entry == connections_.end()) return;
    Connection& connection = entry->second;
    if ((events & EPOLLERR) != 0) note_failure(connection);
    const bool gone = (events & (EPOLLHUP | EPOLLERR)) != 0;
    const bool received = (events & EPOLLIN) == 0 || connection.receive();
    if (!gone && received && advance(connection)) {
        watch(connection, EPOLL_CTL_MOD);
    } else {
        end(connection);
    }
}

// Nothing is read while an answer is being sent, and never more than the length of one frame
// at a time, so a flood cannot fill the memory.
void StoreServer::watch(Connection& connection, int operation) {
    const std::uint32_t input = connection.takes_more() ? EPOLLIN : 0u;
    const std::uint32_t events = connection.out.empty() ? input : std::uint32_t{EPOLLOUT};
    if (operation == EPOLL_CTL_MOD && events == connection.watched) return;
    connection.watched = events;
    control(epoll_, operation, connection.socket, events, connection.id);
}

void StoreServer::set_deadline(Connection& connection, std::optional<Clock::time_point> deadline) {
    if (connection.deadline) deadlines_.erase({*connection.deadline, connection.id});
    connection.deadline = deadline;
    if (deadline) deadlines_.insert({*deadline, connection.id});
}

void StoreServer::end_expired() {
    const auto now = Clock::now();
    if (listens_again_ && now >= *listens_again_) {
        listens_again_.reset();
        watch_listeners(EPOLLIN);
    }
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        Connection& connection = connections_.at(deadlines_.begin()->second);
        bool stays = connection.proven();
        if (stays) {
            stop_waiting(connection);
            queue(connection, {Status::timed_out, 0, ""});
            stays = advance(connection);
        }
        if (stays) {
            watch(connection, EPOLL_CTL_MOD);
        } else {
            end(connection);
        }
    }
}

void StoreServer::end(Connection& connection) {
    stop_waiting(connection);
    execute_will(connection);
    const Id id = connection.id;
    unproven_.erase(id);
    connections_.erase(id);  // closing removes it from the epoll set
}

// Answers every request that has arrived whole. Returns false if the connection ends.
bool StoreServer::advance(Connection& connection) {
    while (true) {
        if (!connection.flush()) return false;
        if (!connection.out.empty() || connection.waits_for) return true;
        std::string payload;
        const auto state = take_frame(connection.in, connection.max_frame_bytes(), payload);
        if (state == FrameState::incomplete) return true;
        if (state == FrameState::too_long) return false;
        const bool taken = connection.proven()
                               ? connection.seal->open(payload) && serve(connection, payload)
                               : greet(connection, payload);
        if (!taken) return false;
    }
}

bool StoreServer::greet(Connection& connection, const std::string& payload) {
    if (payload.size() != nonce_bytes + proof_bytes) return false;
    const Greeting greeting{connection.server_nonce, payload.substr(0, nonce_bytes),
                            local_address_of(connection.socket).port()};
    const std::string_view proof(payload.data() + nonce_bytes, proof_bytes);
    if (!equal_proofs(proof, client_proof(secret_, greeting))) {
        values_.set(refused_key, std::to_string(++refused_) + " times, the last time from " +
                                     peer_address_of(connection.socket).text());
        return false;
    }
    connection.seal.emplace(secret_, greeting, FrameSeal::Side::server);
    unproven_.erase(connection.id);
    set_deadline(connection, std::nullopt);
    connection.out += frame(server_proof(secret_, greeting));
    return true;
}

bool StoreServer::serve(Connection& connection, const std::string& payload) {
    auto request = decode_request(payload);
    if (!request) return false;
    switch (request->command) {
        case Command::set: {
            const bool kept = values_.set(request->key, std::move(request->value));
            queue(connection, {kept ? Status::done : Status::refused, 0, ""});
            if (kept) wake(request->key);
            break;
        }
        case Command::get:
            answer_get(connection, *request);
            break;
        case Command::will:
            connection.will_key = std::move(request->key);
            connection.will_value = std::move(request->value);
            queue(connection, {});
            break;
        case Command::add: {
            const auto sum = values_.add(request->key, request->number);
            queue(connection, {sum ? Status::done : Status::refused, sum.value_or(0), ""});
            break;
        }
    }
    return true;
}

void StoreServer::answer_get(Connection& connection, const Request& request) {
    if (const std::string* value = values_.find(request.key); value != nullptr) {
        queue(connection, {Status::done, 0, *value});
        return;
    }
    const std::chrono::milliseconds wait(std::clamp<std::int64_t>(request.number, 0, 86'400'000));
    set_deadline(connection, Clock::now() + wait);
    connection.waits_for = request.key;
    waiting_[request.key].insert(connection.id);
}

void StoreServer::stop_waiting(Connection& connection) {
    set_deadline(connection, std::nullopt);
    if (!connection.waits_for) return;
    const auto waiting = waiting_.find(*connection.waits_for);
    waiting->second.erase(connection.id);
    if (waiting->second.empty()) waiting_.erase(waiting);
    connection.waits_for.reset();
}

void StoreServer::wake(const std::string& key) {
    const auto entry = waiting_.find(key);
    if (entry == waiting_.end()) return;
    for (const Id id : std::exchange(entry->second, {})) {
        Connection& connection = connections_.at(id);
        connection.waits_for.reset();
        set_deadline(connection, std::nullopt);
        queue(connection, {Status::done, 0, *values_.find(key)});
        // A connection that cannot take the answer gets an event of its own, which ends it.
        connection.flush();
        watch(connection, EPOLL_CTL_MOD);
    }
    waiting_.erase(entry);
}

void StoreServer::execute_wills() {
    for (auto& [key, value] : std::exchange(wills_, {})) {
        if (values_.set(key, std::move(value))) wake(key);
    }
}

}  // namespace lockstep::comm
