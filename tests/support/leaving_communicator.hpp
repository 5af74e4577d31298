// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace lockstep::tests {

// Passes everything on to the communicator below until leave_at(); then it throws instead of the
// call of that number. Calls that queue or wait count, from 0.
class LeavingCommunicator final : public comm::Communicator {
public:
    static constexpr int never = -1;

    explicit LeavingCommunicator(comm::Communicator& below) : below_(below) {}

    // Counts from here on.
    void leave_at(int call) noexcept {
        last_ = call;
        calls_ = 0;
    }
    int calls() const noexcept { return calls_; }

    int rank() const noexcept override { return below_.rank(); }
    int size() const noexcept override { return below_.size(); }
    comm::Ticket all_reduce(comm::HostRange range, comm::ReduceOp reduction,
                            std::string label) override {
        count();
        return below_.all_reduce(range, reduction, std::move(label));
    }
    comm::Ticket reduce_scatter(comm::HostRange range, comm::ReduceOp reduction,
                                std::string label) override {
        count();
        return below_.reduce_scatter(range, reduction, std::move(label));
    }
    comm::Ticket all_gather(comm::HostRange from, comm::HostRange to, std::string label) override {
        count();
        return below_.all_gather(from, to, std::move(label));
    }
    comm::Ticket broadcast(comm::HostRange range, int root, std::string label) override {
        count();
        return below_.broadcast(range, root, std::move(label));
    }
    comm::Ticket send(comm::HostRange range, int to, std::string label) override {
        count();
        return below_.send(range, to, std::move(label));
    }
    comm::Ticket recv(comm::HostRange range, int from, std::string label) override {
        count();
        return below_.recv(range, from, std::move(label));
    }
    comm::Ticket exchange(std::optional<comm::Message> sent, std::optional<comm::Message> received,
                          std::string label) override {
        count();
        return below_.exchange(sent, received, std::move(label));
    }
    comm::Ticket barrier(std::string label) override {
        count();
        return below_.barrier(std::move(label));
    }
    comm::Ticket run(std::function<void()> work, std::string label) override {
        return below_.run(std::move(work), std::move(label));
    }
    std::unique_ptr<comm::Communicator> split(int colour) override { return below_.split(colour); }
    std::unique_ptr<comm::Collectives<HostSpace>> lone_group() override {
        return below_.lone_group();
    }
    void finish() override {
        count();
        below_.finish();
    }
    void finish(comm::Ticket through) override {
        count();
        below_.finish(through);
    }
    std::vector<comm::Timing> take_timings() override { return below_.take_timings(); }
    void give_up() override { below_.give_up(); }
    comm::Activity activity() const override { return below_.activity(); }

private:
    void count() {
        if (calls_++ == last_) throw std::runtime_error("this rank leaves");
    }

    comm::Communicator& below_;
    int last_ = never, calls_ = 0;
};

}  // namespace lockstep::tests
