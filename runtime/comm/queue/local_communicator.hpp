// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace lockstep::comm {

// Implements the communicator of a single rank: every operation is done when its call returns.
class LocalCommunicator : public Communicator {
public:
    int rank() const noexcept override { return 0; }
    int size() const noexcept override { return 1; }
    Ticket all_reduce(HostRange range, ReduceOp reduction, std::string label) override;
    Ticket reduce_scatter(HostRange range, ReduceOp reduction, std::string label) override;
    Ticket all_gather(HostRange from, HostRange to, std::string label) override;
    Ticket broadcast(HostRange range, int root, std::string label) override;
    Ticket send(HostRange range, int to, std::string label) override;
    Ticket recv(HostRange range, int from, std::string label) override;
    Ticket exchange(std::optional<Message> sent, std::optional<Message> received,
                    std::string label) override;
    Ticket barrier(std::string label) override;
    Ticket run(std::function<void()> work, std::string label) override;
    void finish() override;
    void finish(Ticket through) override;
    std::unique_ptr<Communicator> split(int colour) override;
    std::unique_ptr<Collectives<HostSpace>> lone_group() override;
    std::vector<Timing> take_timings() override;

private:
    Ticket record(std::string label, Clock::time_point begin);

    std::vector<Timing> timings_;
};

}  // namespace lockstep::comm
