// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/queue/queued_communicator.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <new>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/support/idle_transport.hpp"

using namespace lockstep;
using namespace lockstep::comm;

TEST_CASE("the bytes that a rank sends are those of a ring, and of its own messages") {
    QueuedCommunicator ranks([] { return std::make_unique<tests::IdleTransport>(4); });
    std::vector<float> part(2), all(8);
    ranks.all_reduce(view_of(all), ReduceOp::sum, "sum");
    ranks.reduce_scatter(view_of(all), ReduceOp::sum, "scatter");
    ranks.all_gather(view_of(part), view_of(all), "gather");
    ranks.broadcast(view_of(all), 0, "broadcast");
    ranks.send(view_of(part), 1, "send");
    ranks.recv(view_of(part), 1, "recv");
    ranks.exchange(Message{view_of(part), 1}, Message{view_of(all), 2}, "exchange");
    ranks.exchange({}, Message{view_of(all), 2}, "nothing");
    ranks.barrier("barrier");
    ranks.finish();
    std::vector<std::int64_t> bytes;
    for (const Timing& timing : ranks.take_timings()) bytes.push_back(timing.bytes);
    CHECK(bytes == std::vector<std::int64_t>{48, 24, 24, 32, 8, 0, 8, 0, 0});
}

TEST_CASE("an operation that gets no memory is named, and the error says what to do") {
    QueuedCommunicator ranks([] { return std::make_unique<tests::IdleTransport>(2); });
    ranks.run([] { throw std::bad_alloc(); }, "bucket 2");
    CHECK_THROWS_WITH_AS(ranks.finish(),
                         "\"bucket 2\" on rank 0: out of memory; take a smaller batch (-bs, "
                         "--batch-tokens) or model",
                         Error);
}
