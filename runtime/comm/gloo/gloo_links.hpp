// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

class GlooBuffer;

// Holds the connections between ranks by Gloo. Another thread can give up the waits on them, which
// Gloo's own collectives do not offer.
class GlooLinks {
public:
    GlooLinks(std::shared_ptr<gloo::Context> context, int timeout_ms);

    // Ends all waits: those of this rank at once, those of its peers because their connections
    // close.
    void give_up() noexcept;
    bool given_up() const;
    // Concerns the waits that begin afterwards.
    void set_timeout(int timeout_ms) noexcept { timeout_ms_ = timeout_ms; }
    void shorten_timeout(int timeout_ms) { timeout_ms_ = std::min(timeout_ms_.load(), timeout_ms); }

private:
    friend class GlooBuffer;

    std::shared_ptr<gloo::Context> context_;
    std::atomic<int> timeout_ms_;
    mutable std::mutex mutex_;
    bool given_up_ = false;
    std::vector<GlooBuffer*> buffers_;
};

// Sends messages from memory, or receives them into it. The memory may be freed once the buffer is
// destroyed, even if a message was not completed. Messages with one slot between two ranks keep
// their order.
class GlooBuffer {
public:
    GlooBuffer(GlooLinks& links, void* data, std::size_t bytes);
    explicit GlooBuffer(GlooLinks& links, const HostRange& range);
    ~GlooBuffer();
    GlooBuffer(const GlooBuffer&) = delete;
    GlooBuffer& operator=(const GlooBuffer&) = delete;

    void start_send(int to, std::uint64_t slot, std::size_t first_byte, std::size_t bytes);
    void start_recv(int from, std::uint64_t slot, std::size_t first_byte, std::size_t bytes);
    void wait_sends();  // waits for all started sends
    void wait_recv();   // waits for the first receive not waited for yet

private:
    friend class GlooLinks;

    template <class Wait>
    void wait(const Wait& wait);

    GlooLinks& links_;
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
    int sends_ = 0;
};

}  // namespace lockstep::comm
