// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/comm/queue/queued_communicator.hpp"
#include "runtime/comm/threads/thread_world.hpp"

namespace lockstep::tests {

struct Slowness {
    std::chrono::nanoseconds per_operation{0};
    double ns_per_byte = 0;
};

// Slows a transport down on purpose: each operation sleeps on the communicator's own thread before
// the transport below performs it.
class SlowTransport : public comm::Transport {
public:
    SlowTransport(std::unique_ptr<comm::Transport> below, Slowness slowness)
        : below_(std::move(below)), slowness_(slowness) {}

    int rank() const noexcept override { return below_->rank(); }
    int size() const noexcept override { return below_->size(); }
    void all_reduce(comm::HostRange range, comm::ReduceOp reduction) override {
        delay(range.bytes());
        below_->all_reduce(range, reduction);
    }
    void reduce_scatter(comm::HostRange range, comm::ReduceOp reduction) override {
        delay(range.bytes());
        below_->reduce_scatter(range, reduction);
    }
    void all_gather(comm::HostRange from, comm::HostRange to) override {
        delay(to.bytes());
        below_->all_gather(from, to);
    }
    void broadcast(comm::HostRange range, int root) override {
        delay(range.bytes());
        below_->broadcast(range, root);
    }
    void send(comm::HostRange range, int to) override {
        delay(range.bytes());
        below_->send(range, to);
    }
    void recv(comm::HostRange range, int from) override { below_->recv(range, from); }
    void exchange(std::optional<comm::Message> sent,
                  std::optional<comm::Message> received) override {
        if (sent) delay(sent->range.bytes());
        below_->exchange(sent, received);
    }
    void barrier() override {
        delay(0);
        below_->barrier();
    }
    std::unique_ptr<comm::Transport> split(int colour) override {
        return std::make_unique<SlowTransport>(below_->split(colour), slowness_);
    }
    void interrupt() noexcept override { below_->interrupt(); }

private:
    void delay(std::size_t bytes) const {
        const std::chrono::duration<double, std::nano> extra(slowness_.ns_per_byte *
                                                             static_cast<double>(bytes));
        std::this_thread::sleep_for(slowness_.per_operation +
                                    std::chrono::duration_cast<std::chrono::nanoseconds>(extra));
    }

    std::unique_ptr<comm::Transport> below_;
    Slowness slowness_;
};

// Makes a slow rank of a ThreadWorld.
inline std::unique_ptr<comm::Communicator> slow_join(comm::ThreadWorld& world, int rank,
                                                     Slowness slowness) {
    return std::make_unique<comm::QueuedCommunicator>(
        [&] { return std::make_unique<SlowTransport>(world.transport(rank), slowness); });
}

}  // namespace lockstep::tests
