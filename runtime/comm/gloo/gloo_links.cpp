// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/gloo/gloo_links.hpp"

#include <gloo/context.h>
#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>

#include <chrono>
#include <utility>

#include "runtime/comm/gloo/gloo_rendezvous.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

// Lets each connection be made by itself.
class GlooLinks::Context final : public gloo::Context {
public:
    Context(int own_rank, int ranks, const GlooMeeting& meeting) : gloo::Context(own_rank, ranks) {
        device_ = meeting.device;
        transportContext_ = device_->createContext(own_rank, ranks);
        setTimeout(std::chrono::milliseconds(meeting.timeout_ms));
        transportContext_->setTimeout(getTimeout());
    }

    bool knows(int peer) { return getPair(peer) != nullptr; }
    gloo::transport::Pair& create(int peer) { return *transportContext_->createPair(peer); }
};

GlooLinks::GlooLinks(int rank, int size, GlooMeeting meeting)
    : meeting_(std::move(meeting)),
      context_(std::make_shared<Context>(rank, size, meeting_)),
      timeout_ms_(meeting_.timeout_ms) {}

void GlooLinks::connect(const std::vector<int>& peers) {
    const auto key = [&](int from, int to) {
        return meeting_.name + "/" + std::to_string(from) + "/" + std::to_string(to);
    };
    std::vector<std::pair<int, gloo::transport::Pair*>> made;
    try {
        {
            const std::lock_guard lock(mutex_);
            for (const int peer : peers)
                if (!given_up_ && !context_->knows(peer))
                    made.emplace_back(peer, &context_->create(peer));
        }
        for (const auto& [peer, pair] : made) {
            const std::vector<char> address = pair->address().bytes();
            meeting_.store->set(key(context_->rank, peer), {address.begin(), address.end()});
        }
        for (const auto& [peer, pair] : made) {
            const std::string address = await(key(peer, context_->rank), peer);
            pair->connect({address.begin(), address.end()});
        }
    } catch (...) {
        throw_gloo_error(meeting_.timeout_ms);
    }
}

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

// The store's own wait cannot be given up, so it is cut into slices.
std::string GlooLinks::await(const std::string& key, int peer) const {
    using std::chrono::milliseconds;
    constexpr milliseconds slice{500};
    const int timeout_ms = timeout_ms_;
    const auto end = Clock::now() + milliseconds(timeout_ms);
    while (true) {
        if (given_up()) throw Error(ErrorKind::peer, "this rank gave the connection up");
        const auto begin = Clock::now();
        if (begin >= end)
            throw Error(ErrorKind::peer, "rank " + std::to_string(peer) + " did not come within " +
                                             std::to_string(timeout_ms) +
                                             " ms: it hangs, or ended");
        try {
            return meeting_.store->get(key, static_cast<int>(slice.count()));
        } catch (const Error&) {
            if (Clock::now() - begin < slice) throw;  // the store itself is lost
        }
    }
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
