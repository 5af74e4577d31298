// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

class GlooBuffer;

// Messages between ranks that are connected by Gloo, with waits that can be given up from another
// thread, which Gloo's own collectives do not offer.
class GlooLinks {
public:
    GlooLinks(std::shared_ptr<gloo::Context> context, int timeout_ms);

    // Ends all waits, here at once and on the peers by their closed connections.
    void give_up() noexcept;
    bool given_up() const;
    void shorten_timeout(int timeout_ms) { timeout_ms_ = std::min(timeout_ms_, timeout_ms); }

private:
    friend class GlooBuffer;

    std::shared_ptr<gloo::Context> context_;
    int timeout_ms_;
    mutable std::mutex mutex_;
    bool given_up_ = false;
    std::vector<GlooBuffer*> buffers_;
};

// Memory that is sent from or received into; it may be freed once the buffer is gone, whatever
// became of its messages. Messages of one slot between two ranks keep their order.
class GlooBuffer {
public:
    GlooBuffer(GlooLinks& links, void* data, std::size_t bytes);
    explicit GlooBuffer(GlooLinks& links, const HostRange& range);
    ~GlooBuffer();
    GlooBuffer(const GlooBuffer&) = delete;
    GlooBuffer& operator=(const GlooBuffer&) = delete;

    void start_send(int to, std::uint64_t slot, std::size_t first_byte, std::size_t bytes);
    void start_recv(int from, std::uint64_t slot, std::size_t first_byte, std::size_t bytes);
    void wait_sends();  // all that were started
    void wait_recv();   // the first that was not yet waited for

private:
    friend class GlooLinks;

    template <class Wait>
    void wait(const Wait& wait);

    GlooLinks& links_;
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
    int sends_ = 0;
};

}  // namespace lockstep::comm
