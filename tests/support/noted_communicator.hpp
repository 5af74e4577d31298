// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/comm/tape.hpp"

namespace lockstep::tests {

// Writes the calls of a real rank on a tape, and passes them on.
class NotedCommunicator final : public comm::Communicator {
public:
    // All must outlive the object. The groups that split() makes are the shard, then the replica.
    NotedCommunicator(comm::Communicator& below, comm::Tape& tape, comm::TapedGroup group)
        : below_(below), tape_(tape), group_(group) {}
    NotedCommunicator(std::unique_ptr<comm::Communicator> below, comm::Tape& tape,
                      comm::TapedGroup group)
        : owned_(std::move(below)), below_(*owned_), tape_(tape), group_(group) {}

    int rank() const noexcept override { return below_.rank(); }
    int size() const noexcept override { return below_.size(); }
    comm::Ticket all_reduce(comm::HostRange range, comm::ReduceOp op, std::string label) override {
        note(comm::TapedCall::all_reduce, range, label);
        return noted(label, below_.all_reduce(range, op, label));
    }
    comm::Ticket reduce_scatter(comm::HostRange range, comm::ReduceOp op,
                                std::string label) override {
        note(comm::TapedCall::reduce_scatter, range, label);
        return noted(label, below_.reduce_scatter(range, op, label));
    }
    comm::Ticket all_gather(comm::HostRange from, comm::HostRange to, std::string label) override {
        note(comm::TapedCall::all_gather, to, label);
        return noted(label, below_.all_gather(from, to, label));
    }
    comm::Ticket broadcast(comm::HostRange range, int root, std::string label) override {
        note(comm::TapedCall::broadcast, range, label);
        return noted(label, below_.broadcast(range, root, label));
    }
    comm::Ticket send(comm::HostRange range, int to, std::string label) override {
        const bool more = !tape_.entries.empty() &&
                          tape_.entries.back().call == comm::TapedCall::send &&
                          tape_.entries.back().label == label;
        if (more)
            tape_.entries.back().bytes += static_cast<std::int64_t>(range.bytes());
        else
            note(comm::TapedCall::send, range, label);
        return noted(label, below_.send(range, to, label));
    }
    comm::Ticket recv(comm::HostRange range, int from, std::string label) override {
        return below_.recv(range, from, std::move(label));
    }
    comm::Ticket exchange(std::optional<comm::Message> sent, std::optional<comm::Message> received,
                          std::string label) override {
        if (sent) note(comm::TapedCall::send, sent->range, label);
        return noted(label, below_.exchange(sent, received, label));
    }
    comm::Ticket barrier(std::string label) override { return below_.barrier(std::move(label)); }
    comm::Ticket run(std::function<void()> work, std::string label) override {
        return below_.run(std::move(work), std::move(label));
    }
    void finish() override {
        note_wait(last_);
        below_.finish();
    }
    void finish(comm::Ticket through) override {
        note_wait(through.number);
        below_.finish(through);
    }
    std::vector<comm::Timing> take_timings() override { return below_.take_timings(); }
    std::unique_ptr<comm::Communicator> split(int colour) override {
        const auto group = std::exchange(next_, comm::TapedGroup::replica);
        return std::make_unique<NotedCommunicator>(below_.split(colour), tape_, group);
    }
    std::unique_ptr<comm::Collectives<HostSpace>> lone_group() override {
        return below_.lone_group();
    }

private:
    comm::Ticket noted(const std::string& label, comm::Ticket ticket) {
        last_ = ticket.number;
        labels_[last_] = label;
        return ticket;
    }
    // A wait for what was waited for already is none.
    void note_wait(std::uint64_t number) {
        if (number <= waited_) return;
        waited_ = number;
        tape_.entries.push_back({.call = comm::TapedCall::wait,
                                 .group = group_,
                                 .ranks = size(),
                                 .label = std::prev(labels_.upper_bound(number))->second});
    }
    void note(comm::TapedCall call, const comm::HostRange& range, const std::string& label) {
        tape_.entries.push_back(
            {call, group_, size(), static_cast<std::int64_t>(range.bytes()), label});
    }

    std::unique_ptr<comm::Communicator> owned_;
    comm::Communicator& below_;
    comm::Tape& tape_;
    const comm::TapedGroup group_;
    comm::TapedGroup next_ = comm::TapedGroup::shard;
    std::map<std::uint64_t, std::string> labels_;  // by the numbers of the operations below
    std::uint64_t last_ = 0, waited_ = 0;
};

}  // namespace lockstep::tests
