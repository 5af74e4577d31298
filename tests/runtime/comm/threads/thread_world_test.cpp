// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/threads/thread_world.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/collective_checks.hpp"
#include "tests/support/slow_communicator.hpp"

using namespace lockstep;
using namespace lockstep::comm;

TEST_CASE("threads as ranks do every collective on every type") {
    for (const int size : {1, 2, 4, 7}) {
        CAPTURE(size);
        run_as_threads(size, [](Communicator& ranks) {
            for (const std::size_t count : {0u, 1u, 3u, 100u}) {
                tests::check_collectives(ranks, count);
            }
        });
    }
}

TEST_CASE("threads add bf16 in fp32, in the order of the ranks") {
    for (const int size : {1, 2, 4, 7}) {
        CAPTURE(size);
        run_as_threads(size, [](Communicator& ranks) {
            for (const std::size_t count : {1u, 3u, 2000u}) tests::check_owner_sums(ranks, count);
        });
    }
}

TEST_CASE("a split world is several smaller ones") {
    for (const int size : {1, 2, 4, 7}) {
        CAPTURE(size);
        run_as_threads(size, [](Communicator& ranks) {
            tests::check_split(ranks, 5);
            tests::check_split(ranks, 2);  // a second split must not see the first one's parts
        });
    }
}

TEST_CASE("the only rank does every collective alone") {
    LocalCommunicator alone;
    tests::check_collectives(alone, 5);
    tests::check_split(alone, 5);
    std::vector<float> data(3);
    CHECK_THROWS_AS(alone.send(view_of(data), 0, "to nobody"), Error);
}

TEST_CASE("a rank that throws releases the others with an error of kind peer") {
    for (int culprit = 0; culprit < 4; ++culprit) {
        CAPTURE(culprit);
        std::vector<int> kinds(4, -1);
        const auto body = [&](Communicator& ranks) {
            std::vector<float> data(1000);
            ranks.barrier("all here");
            ranks.finish();
            if (ranks.rank() == culprit) throw std::runtime_error("planned");
            try {
                ranks.all_reduce(view_of(data), ReduceOp::sum, "bucket 7");
                ranks.finish();
            } catch (const Error& error) {
                kinds[static_cast<std::size_t>(ranks.rank())] = static_cast<int>(error.kind());
                const std::string what = error.what();
                CHECK(what.find("bucket 7") != std::string::npos);
                CHECK(what.find("rank " + std::to_string(ranks.rank())) != std::string::npos);
                throw;
            }
        };
        CHECK_THROWS_WITH_AS(run_as_threads(4, body), "planned", std::runtime_error);
        for (int rank = 0; rank < 4; ++rank) {
            const int expected = rank == culprit ? -1 : static_cast<int>(ErrorKind::peer);
            CHECK(kinds[static_cast<std::size_t>(rank)] == expected);
        }
    }
}

TEST_CASE("a rank that throws releases one that waits for its letter or its reading") {
    for (const bool sends : {true, false}) {
        CAPTURE(sends);
        const auto body = [&](Communicator& ranks) {
            std::vector<float> data(3);
            ranks.barrier("all here");
            ranks.finish();
            if (ranks.rank() == 1) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));  // rank 0 waits by then
                throw std::runtime_error("planned");
            }
            if (ranks.rank() == 0 && sends) ranks.send(view_of(data), 1, "a letter");
            if (ranks.rank() == 0 && !sends) ranks.recv(view_of(data), 1, "a letter");
            ranks.finish();
        };
        CHECK_THROWS_WITH_AS(run_as_threads(3, body), "planned", std::runtime_error);
    }
}

TEST_CASE("ranks that queue different operations are told, and do not hang") {
    for (const int odd_one : {0, 1, 2}) {
        const auto body = [&](Communicator& ranks) {
            std::vector<float> data(ranks.rank() == odd_one ? 5 : 6);
            ranks.all_reduce(view_of(data), ReduceOp::sum, "unequal");
            ranks.finish();
        };
        CHECK_THROWS_AS(run_as_threads(3, body), Error);
    }
}

TEST_CASE("after a failure later operations fail as well and name the first") {
    ThreadWorld world(2);
    const auto first = world.join(0);
    std::vector<float> data(4);
    world.fail();
    first->all_reduce(view_of(data), ReduceOp::sum, "the first");
    first->all_reduce(view_of(data), ReduceOp::sum, "the second");
    for (int attempt = 0; attempt < 2; ++attempt) {
        try {
            first->finish();
            FAIL("finish() did not throw");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::peer);
            CHECK(std::string(error.what()).find("the first") != std::string::npos);
        }
    }
    CHECK(first->take_timings().size() == 1);  // the second never ran
}

TEST_CASE("a failure in a group names this rank by its number in the run") {
    std::vector<std::string> told(4);
    const auto body = [&](Communicator& ranks) {
        const auto group = ranks.split(ranks.rank() % 2);
        std::vector<float> data(ranks.rank() < 2 ? 5 : 6);
        group->all_reduce(view_of(data), ReduceOp::sum, "unequal");
        try {
            group->finish();
        } catch (const Error& error) {
            told[static_cast<std::size_t>(ranks.rank())] = error.what();
        }
    };
    run_as_threads(4, body);
    for (int rank = 0; rank < 4; ++rank)
        CHECK(told[static_cast<std::size_t>(rank)].find(
                  "\"unequal\" on rank " + std::to_string(rank) + ":") != std::string::npos);
}

TEST_CASE("operations are timed one by one, in order, on the communicator's own thread") {
    ThreadWorld world(1);
    const auto slow = tests::slow_join(world, 0, {std::chrono::milliseconds(5), 0});
    std::vector<float> data(4);
    const auto begin = Clock::now();
    slow->all_reduce(view_of(data), ReduceOp::sum, "a");
    slow->broadcast(view_of(data), 0, "b");
    const auto queued = Clock::now();
    slow->finish();
    const auto timings = slow->take_timings();
    REQUIRE(timings.size() == 2);
    CHECK(timings[0].label == "a");
    CHECK(timings[1].label == "b");
    CHECK(timings[0].begin >= begin);
    CHECK(timings[0].end - timings[0].begin >= std::chrono::milliseconds(5));
    CHECK(timings[0].end <= timings[1].begin);
    CHECK(queued < timings[1].end);
    CHECK(slow->take_timings().empty());
}

TEST_CASE("finish(ticket) waits for its operation, and not for later ones") {
    run_as_threads(2, [](Communicator& ranks) {
        std::promise<void> go_on;
        std::atomic<bool> later_done{false};
        std::vector<float> first{1}, second{1};
        ranks.finish(Ticket{});  // nothing was queued
        const Ticket sum = ranks.all_reduce(view_of(first), ReduceOp::sum, "first");
        const Ticket later = ranks.run(
            [&] {
                go_on.get_future().wait_for(std::chrono::seconds(20));
                later_done = true;
            },
            "later");
        ranks.all_reduce(view_of(second), ReduceOp::sum, "second");
        ranks.finish(sum);
        CHECK(first == std::vector<float>{2});
        CHECK(!later_done);
        go_on.set_value();
        ranks.finish(later);
        CHECK(later_done);
        ranks.finish();
        CHECK(second == std::vector<float>{2});
        ranks.finish(sum);  // it is long done
        CHECK_THROWS_AS(ranks.finish(Ticket{4}), Error);
    });
}

TEST_CASE("finish(ticket) of one group does not wait for another group of the rank") {
    run_as_threads(2, [](Communicator& ranks) {
        const auto part = ranks.split(0);
        std::promise<void> go_on;
        std::vector<float> sums{1};
        const Ticket sum = part->all_reduce(view_of(sums), ReduceOp::sum, "of the group");
        ranks.run([&] { go_on.get_future().wait(); }, "of all");
        part->finish(sum);
        CHECK(sums == std::vector<float>{2});
        go_on.set_value();
        ranks.finish();
    });
}

TEST_CASE("wrong requests are refused before they are queued") {
    ThreadWorld world(2);
    const auto rank = world.join(0);
    std::vector<float> data(3);
    std::vector<std::byte> bytes(4);
    CHECK_THROWS_AS(rank->all_reduce(view_of(bytes), ReduceOp::sum, "bytes"), Error);
    CHECK_THROWS_AS(rank->reduce_scatter(view_of(data), ReduceOp::sum, "3 on 2"), Error);
    CHECK_THROWS_AS(rank->all_gather(view_of(data), view_of(data), "no room"), Error);
    CHECK_THROWS_AS(rank->broadcast(view_of(data), 2, "from rank 2"), Error);
    CHECK_THROWS_AS(rank->send(view_of(data), 0, "to itself"), Error);
    CHECK_THROWS_AS(world.join(2), Error);
}
