// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/queue/local_communicator.hpp"

#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::comm {

Ticket LocalCommunicator::record(std::string label, Clock::time_point begin) {
    timings_.push_back({std::move(label), begin, Clock::now()});
    return {};
}

Ticket LocalCommunicator::all_reduce(HostRange range, ReduceOp /*reduction*/, std::string label) {
    require(reducible(range.element), "bytes and fp16 cannot be reduced");
    return record(std::move(label), Clock::now());
}

Ticket LocalCommunicator::reduce_scatter(HostRange range, ReduceOp /*reduction*/,
                                         std::string label) {
    require(reducible(range.element), "bytes and fp16 cannot be reduced");
    return record(std::move(label), Clock::now());
}

Ticket LocalCommunicator::all_gather(HostRange from, HostRange to, std::string label) {
    require(from.element == to.element && from.count == to.count,
            "all_gather needs room for one part of each rank");
    const auto begin = Clock::now();
    if (from.bytes() > 0) std::memmove(to.data, from.data, from.bytes());
    return record(std::move(label), begin);
}

Ticket LocalCommunicator::broadcast(HostRange /*range*/, int root, std::string label) {
    require(root == 0, "broadcast from a rank that does not exist");
    return record(std::move(label), Clock::now());
}

Ticket LocalCommunicator::send(HostRange /*range*/, int /*to*/, std::string /*label*/) {
    require(false, "send to a rank that does not exist");
    return {};
}

Ticket LocalCommunicator::recv(HostRange /*range*/, int /*from*/, std::string /*label*/) {
    require(false, "recv from a rank that does not exist");
    return {};
}

Ticket LocalCommunicator::exchange(std::optional<Message> sent, std::optional<Message> received,
                                   std::string label) {
    require(!sent && !received, "exchange with a rank that does not exist");
    return record(std::move(label), Clock::now());
}

Ticket LocalCommunicator::barrier(std::string label) {
    return record(std::move(label), Clock::now());
}

Ticket LocalCommunicator::run(std::function<void()> work, std::string /*label*/) {
    work();
    return {};
}

void LocalCommunicator::finish() {}

void LocalCommunicator::finish(Ticket /*through*/) {}

std::unique_ptr<Communicator> LocalCommunicator::split(int /*colour*/) {
    return std::make_unique<LocalCommunicator>();
}

std::unique_ptr<Collectives<HostSpace>> LocalCommunicator::lone_group() {
    return std::make_unique<LocalCommunicator>();
}

std::vector<Timing> LocalCommunicator::take_timings() { return std::exchange(timings_, {}); }

}  // namespace lockstep::comm
