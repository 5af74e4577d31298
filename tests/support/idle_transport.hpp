// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "runtime/comm/transport.hpp"

namespace lockstep::tests {

// Rank 0 of a world of `size` ranks, whose operations do nothing.
class IdleTransport : public comm::Transport {
public:
    explicit IdleTransport(int size) : size_(size) {}

    int rank() const noexcept override { return 0; }
    int size() const noexcept override { return size_; }
    void all_reduce(comm::HostRange, comm::ReduceOp) override {}
    void reduce_scatter(comm::HostRange, comm::ReduceOp) override {}
    void all_gather(comm::HostRange, comm::HostRange) override {}
    void broadcast(comm::HostRange, int) override {}
    void send(comm::HostRange, int) override {}
    void recv(comm::HostRange, int) override {}
    void exchange(std::optional<comm::Message>, std::optional<comm::Message>) override {}
    void barrier() override {}
    std::unique_ptr<comm::Transport> split(int) override {
        return std::make_unique<IdleTransport>(size_);
    }
    void interrupt() noexcept override {}

private:
    int size_;
};

}  // namespace lockstep::tests
