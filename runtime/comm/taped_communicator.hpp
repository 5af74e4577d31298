// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/tape.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

// The place of a rank in a group whose other ranks do not exist.
struct TapedPlace {
    TapedGroup group = TapedGroup::world;
    int rank = 0, size = 1;
};

// Implements Collectives<Space> for one rank by writing the calls on a tape. It touches no memory
// and waits for nobody.
template <class Interface, class Space>
class Taped : public Interface {
public:
    // `tape` must outlive the object.
    Taped(Tape& tape, TapedPlace place) : tape_(tape), place_(place) {}

    int rank() const noexcept override { return place_.rank; }
    int size() const noexcept override { return place_.size; }
    Ticket all_reduce(Range<Space> range, ReduceOp, std::string label) override {
        return note(TapedCall::all_reduce, range.bytes(), std::move(label));
    }
    Ticket reduce_scatter(Range<Space> range, ReduceOp, std::string label) override {
        return note(TapedCall::reduce_scatter, range.bytes(), std::move(label));
    }
    Ticket all_gather(Range<Space>, Range<Space> to, std::string label) override {
        return note(TapedCall::all_gather, to.bytes(), std::move(label));
    }
    Ticket broadcast(Range<Space> range, int /*root*/, std::string label) override {
        return note(TapedCall::broadcast, range.bytes(), std::move(label));
    }
    void finish() override { finish(last()); }
    void finish(Ticket through) override {
        if (through.number <= waited_) return;
        waited_ = through.number;
        tape_.entries.push_back({.call = TapedCall::wait,
                                 .group = place_.group,
                                 .ranks = place_.size,
                                 .label = labels_[waited_ - 1]});
    }
    std::vector<Timing> take_timings() override { return {}; }

protected:
    Ticket note(TapedCall call, std::size_t bytes, std::string label) {
        if (place_.size == 1) return {};
        tape_.entries.push_back(
            {call, place_.group, place_.size, static_cast<std::int64_t>(bytes), label});
        labels_.push_back(std::move(label));
        return last();
    }
    Ticket last() const noexcept { return {labels_.size()}; }
    Tape& tape() const noexcept { return tape_; }

private:
    Tape& tape_;
    const TapedPlace place_;
    std::vector<std::string> labels_;  // of all operations, by their number less one
    std::uint64_t waited_ = 0;         // the number of the last operation that was waited for
};

template <class Space>
class TapedCollectives final : public Taped<Collectives<Space>, Space> {
public:
    // group() gives these places one after the other, whatever the colour.
    TapedCollectives(Tape& tape, TapedPlace place, std::vector<TapedPlace> groups = {})
        : Taped<Collectives<Space>, Space>(tape, place), groups_(std::move(groups)) {}

    std::unique_ptr<Collectives<Space>> group(int /*colour*/) override {
        require(made_ < groups_.size(), "a taped rank has no such group");
        return std::make_unique<TapedCollectives>(this->tape(), groups_[made_++]);
    }
    std::unique_ptr<Collectives<Space>> lone_group() override {
        return std::make_unique<TapedCollectives>(this->tape(), TapedPlace{});
    }

private:
    const std::vector<TapedPlace> groups_;
    std::size_t made_ = 0;
};

// Is the communicator of such a rank. It has no groups, and runs no work.
class TapedCommunicator final : public Taped<Communicator, HostSpace> {
public:
    TapedCommunicator(Tape& tape, int rank, int size)
        : Taped(tape, {TapedGroup::world, rank, size}) {}

    Ticket send(HostRange range, int, std::string label) override {
        if (!tape().entries.empty()) {
            TapeEntry& last = tape().entries.back();
            if (last.call == TapedCall::send && last.label == label) {
                last.bytes += static_cast<std::int64_t>(range.bytes());
                return this->last();
            }
        }
        return note(TapedCall::send, range.bytes(), std::move(label));
    }
    Ticket recv(HostRange, int, std::string) override { return {}; }
    Ticket exchange(std::optional<Message> sent, std::optional<Message>,
                    std::string label) override {
        if (!sent) return {};
        return send(sent->range, sent->rank, std::move(label));
    }
    Ticket barrier(std::string) override { return {}; }
    Ticket run(std::function<void()>, std::string) override { return {}; }
    std::unique_ptr<Communicator> split(int) override {
        require(false, "a taped communicator has no groups");
        return nullptr;
    }
    std::unique_ptr<Collectives<HostSpace>> lone_group() override { return split(0); }
};

}  // namespace lockstep::comm
