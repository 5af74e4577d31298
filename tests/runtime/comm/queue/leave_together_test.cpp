// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>

#include "runtime/comm/queue/queued_communicator.hpp"
#include "tests/support/idle_transport.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::comm;

// Counts the interruptions of itself and its parts.
class CountingTransport : public tests::IdleTransport {
public:
    explicit CountingTransport(int& interruptions)
        : IdleTransport(2), interruptions_(interruptions) {}

    std::unique_ptr<Transport> split(int) override {
        return std::make_unique<CountingTransport>(interruptions_);
    }
    void interrupt() noexcept override { ++interruptions_; }

private:
    int& interruptions_;
};

enum class Leaves { alone, together, giving_up, after_a_failure };

// Returns how often the others are interrupted when an exception ends the ranks' communicator.
int interruptions(Leaves how) {
    int count = 0;
    try {
        QueuedCommunicator ranks([&] { return std::make_unique<CountingTransport>(count); });
        const auto part = ranks.split(0);
        ranks.barrier("before");
        ranks.finish();
        if (how == Leaves::after_a_failure) {
            ranks.run([] { throw std::runtime_error("fails"); }, "work");
            CHECK_THROWS(ranks.finish());
        }
        if (how != Leaves::alone) ranks.leave_together();
        if (how == Leaves::giving_up) ranks.give_up();
        throw std::runtime_error("the reason to end");
    } catch (const std::runtime_error&) {
        return count;
    }
}

}  // namespace

TEST_CASE("an exception of one rank interrupts the others") {
    CHECK(interruptions(Leaves::alone) >= 1);
}

TEST_CASE("an exception of ranks that leave together interrupts nobody") {
    CHECK(interruptions(Leaves::together) == 0);
    CHECK(interruptions(Leaves::giving_up) == 0);
}

TEST_CASE("a failed operation interrupts the others although all leave together") {
    CHECK(interruptions(Leaves::after_a_failure) >= 1);
}
