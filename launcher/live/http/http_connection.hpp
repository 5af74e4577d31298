// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "launcher/live/http/http_request.hpp"
#include "launcher/live/http/http_response.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep::launcher::live {

using Answer = std::function<HttpResponse(const HttpRequest&)>;

// Serves one request of one connection, and never waits.
class HttpConnection {
public:
    using Clock = std::chrono::steady_clock;

    // `socket` is non-blocking.
    explicit HttpConnection(FileDescriptor socket);

    int descriptor() const noexcept { return socket_.raw(); }
    short awaited_events() const noexcept;
    // Goes on as far as the socket allows.
    void go_on(const Answer& answer);
    // Whether the connection has ended, or has taken too long at `now`.
    bool is_over(Clock::time_point now) const noexcept;

private:
    enum class State { reads, writes, drains, over };

    void read(const Answer& answer);
    void begin_response(const HttpResponse& response, bool with_body);
    void write();
    void drain();
    void enter(State state, std::chrono::seconds longest);

    FileDescriptor socket_;
    State state_ = State::reads;
    Clock::time_point deadline_;
    std::string received_, head_;
    std::shared_ptr<const std::string> body_;
    std::size_t sent_ = 0;  // bytes of the head and the body
};

}  // namespace lockstep::launcher::live
