// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/http/http_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace lockstep::launcher::live {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_head_bytes = 16'384;
// A client that sends or takes its bytes one by one does not gain time by it.
constexpr auto longest_request = 10s, longest_response = 60s, longest_farewell = 2s;

bool may_come_later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

HttpConnection::HttpConnection(FileDescriptor socket) : socket_(std::move(socket)) {
    enter(State::reads, longest_request);
}

void HttpConnection::enter(State state, std::chrono::seconds longest) {
    state_ = state;
    deadline_ = Clock::now() + longest;
}

short HttpConnection::awaited_events() const noexcept {
    return state_ == State::writes ? POLLOUT : POLLIN;
}

bool HttpConnection::is_over(Clock::time_point now) const noexcept {
    return state_ == State::over || now >= deadline_;
}

void HttpConnection::go_on(const Answer& answer) {
    if (state_ == State::reads) read(answer);
    if (state_ == State::writes) write();
    if (state_ == State::drains) drain();
}

void HttpConnection::read(const Answer& answer) {
    std::array<char, 4096> block;
    const ssize_t bytes = ::recv(socket_.raw(), block.data(), block.size(), 0);
    if (bytes < 0 && may_come_later()) return;
    if (bytes <= 0) {
        state_ = State::over;
        return;
    }
    received_.append(block.data(), static_cast<std::size_t>(bytes));
    const std::size_t end = end_of_head(received_);
    if (end == std::string::npos) {
        if (received_.size() > longest_head_bytes)
            begin_response(line_response(431, "the request is too long"), true);
        return;
    }
    const HttpRequest request = parse_head(std::string_view(received_).substr(0, end));
    begin_response(answer(request), request.method != "HEAD");
}

void HttpConnection::begin_response(const HttpResponse& response, bool with_body) {
    head_ = head_of(response);
    if (with_body && response.status != 304) body_ = response.body;
    enter(State::writes, longest_response);
}

void HttpConnection::write() {
    const std::size_t body_bytes = body_ ? body_->size() : 0;
    while (sent_ < head_.size() + body_bytes) {
        const std::string_view rest = sent_ < head_.size()
                                          ? std::string_view(head_).substr(sent_)
                                          : std::string_view(*body_).substr(sent_ - head_.size());
        const ssize_t bytes = ::send(socket_.raw(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (bytes < 0 && may_come_later()) return;
        if (bytes < 0) {
            state_ = State::over;
            return;
        }
        sent_ += static_cast<std::size_t>(bytes);
    }
    ::shutdown(socket_.raw(), SHUT_WR);
    enter(State::drains, longest_farewell);
}

// Closing a socket with bytes that were not read would make the system discard the response.
void HttpConnection::drain() {
    std::array<char, 4096> block;
    const ssize_t bytes = ::recv(socket_.raw(), block.data(), block.size(), 0);
    if (bytes > 0 || (bytes < 0 && may_come_later())) return;
    state_ = State::over;
}

}  // namespace lockstep::launcher::live
