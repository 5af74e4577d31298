// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/transport/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/store/store.hpp"

namespace lockstep::comm {

class GlooBuffer;

// Tells where the ranks of one communicator find each other.
struct GlooMeeting {
    std::shared_ptr<Store> store;
    std::shared_ptr<gloo::transport::Device> device;
    int timeout_ms;
    std::string name;  // keeps the keys of several communicators apart
};

// Holds the connections of a rank with some other ranks by Gloo. Another thread can give up the
// waits on them, which Gloo's own collectives do not offer.
class GlooLinks {
public:
    GlooLinks(int rank, int size, GlooMeeting meeting);

    // Connects with those of the ranks that are not connected yet, and returns when they are. Each
    // of them makes the same call for this rank; all ranks name their peers in ascending order, so
    // that they never wait for each other in a circle.
    void connect(const std::vector<int>& peers);

    // Ends all waits: those of this rank at once, those of its peers because their connections
    // close.
    void give_up() noexcept;
    bool given_up() const;
    // Concerns the waits that begin afterwards.
    void set_timeout(int timeout_ms) noexcept { timeout_ms_ = timeout_ms; }
    void shorten_timeout(int timeout_ms) { timeout_ms_ = std::min(timeout_ms_.load(), timeout_ms); }

private:
    friend class GlooBuffer;

    class Context;

    // Returns the value of a key that a peer sets.
    std::string await(const std::string& key, int peer) const;

    const GlooMeeting meeting_;
    std::shared_ptr<Context> context_;
    std::atomic<int> timeout_ms_;
    mutable std::mutex mutex_;  // guards the members below, and which connections there are
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
