// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/gloo/gloo_transport.hpp"
#include "tests/runtime/comm/collective_checks.hpp"
#include "tests/runtime/comm/gloo/gloo_ranks.hpp"

// With whom a rank connects, and in which order sums are added over these connections.

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::tests;

namespace {

// Returns values whose sums are never exact.
std::vector<float> uneven(int rank, std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] =
            1.0F / static_cast<float>(3 + (i * 7 + static_cast<std::size_t>(rank) * 13) % 89);
    return values;
}

void add_to(std::vector<float>& sum, const std::vector<float>& other) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + other[i];
}

// Returns the sum in the order of the tree that reduce_by_doubling describes.
std::vector<float> doubled_sum(int size, std::size_t count) {
    std::vector<std::vector<float>> sums;
    for (int rank = 0; rank < size; ++rank) sums.push_back(uneven(rank, count));
    std::size_t even = 1;
    while (2 * even <= sums.size()) even *= 2;
    for (std::size_t rank = even; rank < sums.size(); ++rank) add_to(sums[rank - even], sums[rank]);
    for (std::size_t distance = 1; distance < even; distance *= 2)
        for (std::size_t rank = 0; rank < even; rank += 2 * distance)
            add_to(sums[rank], sums[rank + distance]);
    return sums.front();
}

void check_small_sum(Communicator& ranks, std::size_t count_per_rank) {
    const auto size = static_cast<std::size_t>(ranks.size());
    auto whole = uneven(ranks.rank(), count_per_rank * size), scattered = whole;
    ranks.all_reduce(view_of(whole), ReduceOp::sum, "small");
    ranks.reduce_scatter(view_of(scattered), ReduceOp::sum, "small");
    ranks.finish();
    if (whole != doubled_sum(ranks.size(), whole.size()))
        throw std::runtime_error("a small sum has another order");
    const auto own = static_cast<std::size_t>(ranks.rank()) * count_per_rank;
    if (!std::equal(&scattered[own], &scattered[own] + count_per_rank, &whole[own]))
        throw std::runtime_error("a small reduce_scatter has other bits than an all_reduce");
}

// Sends to each rank in turn and hears from each: most of them are not near.
void check_messages(Communicator& ranks) {
    const int size = ranks.size(), own = ranks.rank();
    for (int round = 0; round < size; ++round) {
        const int other = (round - own + size) % size;  // the partner's partner is this rank
        if (other == own) continue;
        std::vector<float> sent{static_cast<float>(own)}, heard{-1};
        if (own < other) ranks.send(view_of(sent), other, "to");
        ranks.recv(view_of(heard), other, "from");
        if (own > other) ranks.send(view_of(sent), other, "to");
        ranks.finish();
        if (heard.front() != static_cast<float>(other)) throw std::runtime_error("a stray message");
    }
}

}  // namespace

TEST_CASE("small sums are added along a tree, large ones around the ring") {
    for (const int size : {1, 2, 3, 4, 7}) {
        CAPTURE(size);
        const auto failures = run_gloo(size, 20'000, [](Communicator& ranks) {
            for (const std::size_t count : {1u, 5u, 2000u}) check_small_sum(ranks, count);
            tests::check_ring_order(ranks, 200'000);
        });
        for (const auto& failure : failures) CHECK(text_of(failure) == "");
    }
}

TEST_CASE("ranks connect with those at distances of powers of two") {
    CHECK(near_ranks(0, 1).empty());
    CHECK(near_ranks(1, 2) == std::vector{0});
    CHECK(near_ranks(2, 4) == std::vector{0, 1, 3});
    CHECK(near_ranks(0, 9) == std::vector{1, 2, 4, 5, 7, 8});
    CHECK(near_ranks(4095, 4096).size() == 23);
}

TEST_CASE("ranks that are not near connect when one sends to the other") {
    const auto failures = run_gloo(9, 60'000, [](Communicator& ranks) {
        check_messages(ranks);
        tests::check_split(ranks, 5);
        check_messages(ranks);
    });
    for (const auto& failure : failures) CHECK(text_of(failure) == "");
}

// A full mesh of 256 ranks would take 65,000 descriptors; this takes about 5,000, and fewer
// ranks take part where a process may not have them.
TEST_CASE("many ranks meet, with few connections each") {
    rlimit files{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
    const rlimit before = files;
    files.rlim_cur = files.rlim_max;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
    const int size = files.rlim_cur >= 8192 ? 256 : 24;
    CAPTURE(size);
    const auto failures = run_gloo(size, 300'000, [](Communicator& ranks) {
        std::vector<float> values(20'000, 1);
        ranks.all_reduce(view_of(values), ReduceOp::sum, "large");
        ranks.finish();
        for (const float value : values)
            if (value != static_cast<float>(ranks.size())) throw std::runtime_error("wrong sum");
        check_small_sum(ranks, 3);
    });
    for (const auto& failure : failures) CHECK(text_of(failure) == "");
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}

// Of nine ranks, 0 and 3 are not near.
TEST_CASE(
    "a rank that waits for one that is not near can give up, and is told after the time-out") {
    std::atomic<bool> left{false};
    auto failures = run_gloo(9, 600'000, [&](Communicator& ranks) {
        std::vector<float> data(10);
        if (ranks.rank() == 3) {
            ranks.send(view_of(data), 0, "to nobody");
            while (ranks.activity().operation.empty()) std::this_thread::yield();
            ranks.give_up();
            left = true;
            throw std::runtime_error("planned");
        }
        while (!left) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ranks.barrier("end");
        ranks.finish();
    });
    CHECK(text_of(failures[3]) == "planned");
    CHECK(text_of(failures[0]).starts_with("peer: "));
    left = false;
    failures = run_gloo(9, 20'000, [&](Communicator& ranks) {
        std::vector<float> data(10);
        if (ranks.rank() != 3) {
            while (!left) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return;
        }
        ranks.set_timeout(300);
        ranks.send(view_of(data), 0, "to nobody");
        try {
            ranks.finish();
        } catch (...) {
            left = true;
            throw;
        }
    });
    CHECK(text_of(failures[3]).find("rank 0 did not come within 300 ms") != std::string::npos);
}

TEST_CASE("a group has the time limit of the ranks that it was split off, also a later one") {
    for (const bool split_first : {true, false}) {
        std::atomic<bool> left{false};
        const auto failures = run_gloo(2, 20'000, [&](Communicator& ranks) {
            std::unique_ptr<Communicator> group;
            if (split_first) group = ranks.split(0);
            ranks.set_timeout(300);
            if (!split_first) group = ranks.split(0);
            if (ranks.rank() == 1) {
                while (!left) std::this_thread::sleep_for(std::chrono::milliseconds(5));
                return;
            }
            std::vector<float> data(10);
            group->recv(view_of(data), 1, "nothing");
            try {
                group->finish();
            } catch (...) {
                left = true;
                throw;
            }
        });
        CHECK(text_of(failures[0]).find("within 300 ms") != std::string::npos);
    }
}

TEST_CASE("after an abort no operation passes for one that all ranks did") {
    const auto failures = run_gloo(2, 20'000, [](Communicator& ranks) {
        std::vector<float> data(10);
        ranks.barrier("begin");
        ranks.finish();
        if (ranks.rank() == 0) ranks.abort(1);  // Gloo cannot end the processes, and returns
        ranks.all_reduce(view_of(data), ReduceOp::sum, "too late");
        ranks.finish();
    });
    CHECK(text_of(failures[0]).starts_with("peer: this rank ends the run"));
    CHECK(text_of(failures[1]).starts_with("peer: "));
}
