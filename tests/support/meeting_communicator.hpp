// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/comm/queue/queued_communicator.hpp"
#include "runtime/comm/threads/thread_world.hpp"

namespace lockstep::tests {

// Counts what has happened on a rank, so that its computing and its communication can wait for each
// other. No wait depends on how fast they are.
class Happenings {
public:
    // Returns how often it has happened by now.
    int add(const std::string& what) {
        int count = 0;
        {
            const std::lock_guard lock(mutex_);
            count = ++counts_[what];
        }
        changed_.notify_all();
        return count;
    }
    int count(const std::string& what) {
        const std::lock_guard lock(mutex_);
        return counts_[what];
    }
    // Waits until it has happened so often, or until nobody waits any more. What cannot happen, as
    // the code is wrong, is given up after a minute, and then missed() tells it.
    void wait(const std::string& what, int times) {
        std::unique_lock lock(mutex_);
        const bool came = changed_.wait_for(lock, std::chrono::minutes(1),
                                            [&] { return open_ || counts_[what] >= times; });
        if (came) return;
        missed_ +=
            what + " " + std::to_string(times) + ", but " + std::to_string(counts_[what]) + "; ";
        open_ = true;
        changed_.notify_all();
    }
    // Ends all waits.
    void open() {
        {
            const std::lock_guard lock(mutex_);
            open_ = true;
        }
        changed_.notify_all();
    }
    std::string missed() {
        const std::lock_guard lock(mutex_);
        return missed_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, int> counts_;
    std::string missed_;
    bool open_ = false;
};

// Calls functions with the name of each operation of another transport before and after it is
// performed, on the communicator's own thread.
class MeetingTransport final : public comm::Transport {
public:
    using Call = std::function<void(const char* operation)>;

    MeetingTransport(std::unique_ptr<comm::Transport> below, Call before, Call after)
        : below_(std::move(below)), before_(std::move(before)), after_(std::move(after)) {}

    int rank() const noexcept override { return below_->rank(); }
    int size() const noexcept override { return below_->size(); }
    void all_reduce(comm::HostRange range, comm::ReduceOp reduction) override {
        before_("all_reduce");
        below_->all_reduce(range, reduction);
        after_("all_reduce");
    }
    void reduce_scatter(comm::HostRange range, comm::ReduceOp reduction) override {
        before_("reduce_scatter");
        below_->reduce_scatter(range, reduction);
        after_("reduce_scatter");
    }
    void all_gather(comm::HostRange from, comm::HostRange to) override {
        before_("all_gather");
        below_->all_gather(from, to);
        after_("all_gather");
    }
    void broadcast(comm::HostRange range, int root) override { below_->broadcast(range, root); }
    void send(comm::HostRange range, int to) override { below_->send(range, to); }
    void recv(comm::HostRange range, int from) override { below_->recv(range, from); }
    void exchange(std::optional<comm::Message> sent,
                  std::optional<comm::Message> received) override {
        below_->exchange(sent, received);
    }
    void barrier() override { below_->barrier(); }
    std::unique_ptr<comm::Transport> split(int colour) override {
        return std::make_unique<MeetingTransport>(below_->split(colour), before_, after_);
    }
    void interrupt() noexcept override { below_->interrupt(); }

private:
    std::unique_ptr<comm::Transport> below_;
    Call before_, after_;
};

// Makes such a rank of a ThreadWorld.
inline std::unique_ptr<comm::Communicator> meeting_join(
    comm::ThreadWorld& world, int rank, const MeetingTransport::Call& before,
    const MeetingTransport::Call& after = [](const char*) {}) {
    return std::make_unique<comm::QueuedCommunicator>(
        [&] { return std::make_unique<MeetingTransport>(world.transport(rank), before, after); });
}

}  // namespace lockstep::tests
