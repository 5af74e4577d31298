// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/queue/queued_communicator.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <new>

#include "runtime/core/error.hpp"
#include "tests/support/idle_transport.hpp"

using namespace lockstep;
using namespace lockstep::comm;

TEST_CASE("an operation that gets no memory is named, and the error says what to do") {
    QueuedCommunicator ranks([] { return std::make_unique<tests::IdleTransport>(2); });
    ranks.run([] { throw std::bad_alloc(); }, "bucket 2");
    CHECK_THROWS_WITH_AS(ranks.finish(),
                         "\"bucket 2\" on rank 0: out of memory; take a smaller batch (-bs, "
                         "--batch-tokens) or model",
                         Error);
}
