// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/comm/reduction.hpp"

namespace lockstep::tests {

// Communicates with a second rank that gives the same values and answers late: an operation runs in
// finish() or perform(). perform() stands for the communicator's thread, which does not stop when
// the caller leaves.
class HeldCommunicator final : public comm::LocalCommunicator {
public:
    int size() const noexcept override { return 2; }
    comm::Ticket all_reduce(comm::HostRange range, comm::ReduceOp reduction, std::string) override {
        held_.push_back([range, reduction] {
            comm::reduce_into(range.data, range.data, range.count, range.element, reduction);
        });
        return {};
    }
    comm::Ticket run(std::function<void()> work, std::string) override {
        held_.push_back(std::move(work));
        return {};
    }
    void finish() override { perform(); }
    void finish(comm::Ticket) override { perform(); }

    void perform() {
        for (const auto& work : std::exchange(held_, {})) work();
    }

private:
    std::vector<std::function<void()>> held_;
};

}  // namespace lockstep::tests
