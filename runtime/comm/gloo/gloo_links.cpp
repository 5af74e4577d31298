// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/gloo/gloo_links.hpp"

#include <chrono>
#include <utility>

#include "runtime/comm/gloo/gloo_rendezvous.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

GlooLinks::GlooLinks(std::shared_ptr<gloo::Context> context, int timeout_ms)
    : context_(std::move(context)), timeout_ms_(timeout_ms) {}

void GlooLinks::give_up() noexcept {
    const std::lock_guard lock(mutex_);
    if (std::exchange(given_up_, true)) return;
    for (GlooBuffer* buffer : buffers_) {
        buffer->buffer_->abortWaitRecv();
        buffer->buffer_->abortWaitSend();
    }
    context_->closeConnections();
}

bool GlooLinks::given_up() const {
    const std::lock_guard lock(mutex_);
    return given_up_;
}

GlooBuffer::GlooBuffer(GlooLinks& links, void* data, std::size_t bytes)
    : links_(links), buffer_(links.context_->createUnboundBuffer(data, bytes)) {
    const std::lock_guard lock(links_.mutex_);
    links_.buffers_.push_back(this);
}

GlooBuffer::GlooBuffer(GlooLinks& links, const HostRange& range)
    : GlooBuffer(links, range.data, range.bytes()) {}

GlooBuffer::~GlooBuffer() {
    const std::lock_guard lock(links_.mutex_);
    std::erase(links_.buffers_, this);
}

void GlooBuffer::start_send(int to, std::uint64_t slot, std::size_t first_byte, std::size_t bytes) {
    wait([&] {
        buffer_->send(to, slot, first_byte, bytes);
        return true;
    });
    ++sends_;
}

void GlooBuffer::start_recv(int from, std::uint64_t slot, std::size_t first_byte,
                            std::size_t bytes) {
    wait([&] {
        buffer_->recv(from, slot, first_byte, bytes);
        return true;
    });
}

void GlooBuffer::wait_sends() {
    const std::chrono::milliseconds timeout(links_.timeout_ms_);
    for (; sends_ > 0; --sends_) wait([&] { return buffer_->waitSend(timeout); });
}

void GlooBuffer::wait_recv() {
    const std::chrono::milliseconds timeout(links_.timeout_ms_);
    wait([&] { return buffer_->waitRecv(timeout); });
}

template <class Wait>
void GlooBuffer::wait(const Wait& wait) {
    // This check separates connections that give_up() closed from those that another rank's end
    // closed.
    bool completed = !links_.given_up();
    try {
        completed = completed && wait();
    } catch (...) {
        throw_gloo_error(links_.timeout_ms_);
    }
    if (!completed) throw Error(ErrorKind::peer, "this rank gave the operation up");
}

}  // namespace lockstep::comm
