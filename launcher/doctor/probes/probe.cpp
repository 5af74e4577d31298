// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/probe.hpp"

#include <poll.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

#include "launcher/doctor/probes/deadline_io.hpp"
#include "launcher/doctor/probes/probe_protocol.hpp"
#include "launcher/doctor/probes/probe_server.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher::doctor {

namespace {

using std::chrono::milliseconds;

std::string why(int failure, const std::string& address, int port, int timeout_ms) {
    const std::string where = address + " port " + std::to_string(port);
    switch (failure) {
        case ECONNREFUSED:
            return where + " refuses connections: the host answers, but nothing listens there";
        case ETIMEDOUT:
            return where + " does not answer within " + seconds_text(timeout_ms / 1e3) +
                   ": a firewall drops it, or the host is down";
        default:
            return where + ": " + std::generic_category().message(failure);
    }
}

struct Opened {
    FileDescriptor socket;
    std::string problem;
};

Opened open(const std::string& address, int port, int timeout_ms) {
    std::string problem;
    try {
        for (const auto& one : comm::resolve(address, port)) {
            auto [socket, failure] = comm::try_to_connect(one, timeout_ms);
            if (socket) return {std::move(socket), ""};
            problem = why(failure, one.text(), port, timeout_ms);
        }
    } catch (const Error&) {
        problem = "the name " + address + " does not resolve";
    }
    return {{}, problem};
}

// Connects to the target and sends the token and the question.
Opened open(const ProbeTarget& target, char question, Clock::time_point deadline) {
    Opened opened = open(target.address, target.port, milliseconds_to(deadline));
    const std::string greeting = target.token + question;
    if (opened.socket && !send_all(opened.socket, greeting.data(), greeting.size(), deadline))
        opened.problem = target.address + " ends the connection";
    return opened;
}

}  // namespace

Probe probe(const ProbeTarget& target, int timeout_ms) {
    constexpr int questions = 8;
    const auto deadline = Clock::now() + milliseconds(timeout_ms);
    const Opened opened = open(target, ask_time, deadline);
    Probe result{target.host, target.address, opened.problem, 0, 0};
    if (!result.problem.empty()) return result;
    double nearest = std::numeric_limits<double>::max();
    for (int i = 0; i < questions; ++i) {
        const std::byte question{};
        std::int64_t theirs = 0;
        const auto before = Clock::now();
        const auto ours = wall_time();
        if (!send_all(opened.socket, &question, 1, deadline) ||
            !receive_all(opened.socket, &theirs, sizeof theirs, deadline)) {
            result.problem = "what answers at " + target.address + " port " +
                             std::to_string(target.port) +
                             " is not that host: another machine has the address";
            return result;
        }
        const double round_trip = seconds_between(before, Clock::now());
        if (round_trip >= nearest) continue;
        // The answer is taken to be from the middle of the round trip, so the shortest is the most
        // exact.
        nearest = round_trip;
        result.round_trip_s = round_trip;
        result.clock_ahead_s = 1e-9 * static_cast<double>(theirs - ours.count()) - round_trip / 2;
    }
    return result;
}

double stream_rate(const ProbeTarget& target, int timeout_ms) {
    const auto deadline = Clock::now() + milliseconds(timeout_ms);
    const Opened opened = open(target, ask_stream, deadline);
    if (!opened.problem.empty()) return 0;
    // Keep little data in flight: bytes in this host's buffers would delay the answer.
    const int buffer_bytes = 1 << 20;
    ::setsockopt(opened.socket.raw(), SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    const std::vector<std::byte> block(stream_block_bytes);
    while (Clock::now() < deadline && !comm::wait_for(opened.socket, POLLIN, 0)) {
        if (!comm::wait_for(opened.socket, POLLOUT, 10)) continue;
        const auto sent = ::send(opened.socket.raw(), block.data(), block.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return 0;
    }
    StreamCount count;
    if (!receive_all(opened.socket, &count, sizeof count, deadline) || count.nanoseconds <= 0)
        return 0;
    return static_cast<double>(count.bytes) / (1e-9 * static_cast<double>(count.nanoseconds));
}

double copy_rate() {
    constexpr std::size_t bytes = std::size_t{32} << 20;  // more than the caches hold
    const std::vector<char> from(bytes, 1);
    std::vector<char> to(bytes);
    double best = 0;
    for (int i = 0; i < 3; ++i) {
        const auto begin = Clock::now();
        std::memcpy(to.data(), from.data(), bytes);
        const double seconds = seconds_between(begin, Clock::now());
        if (to[static_cast<std::size_t>(i)] == 1 &&
            seconds > 0)  // reading keeps the copy from being optimised away
            best = std::max(best, static_cast<double>(bytes) / seconds);
    }
    return best;
}

std::string unreachable(const std::string& address, int port, int timeout_ms) {
    return open(address, port, timeout_ms).problem;
}

}  // namespace lockstep::launcher::doctor
