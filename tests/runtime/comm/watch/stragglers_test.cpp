// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/watch/stragglers.hpp"

#include <doctest/doctest.h>

using namespace lockstep::comm;

namespace {

constexpr std::int64_t second = 1'000'000;

Sighting rank(std::int64_t last_step, std::int64_t data_us, std::int64_t computing_us) {
    Sighting seen;
    seen.record = WatchRecord();
    seen.record->host = "node2";
    seen.record->window = {last_step, data_us, computing_us, second / 10};
    return seen;
}

}  // namespace

TEST_CASE("a rank that works a fifth longer than the median rank is named once, with its phase") {
    Stragglers stragglers;
    const std::vector<Sighting> ranks = {rank(50, 0, 3 * second), rank(50, second, 3 * second),
                                         rank(50, 0, 3 * second + second / 10)};
    const auto found = stragglers.look(ranks);
    REQUIRE(found.size() == 1);
    CHECK(found[0].rank == 1);
    CHECK(found[0].host == "node2");
    CHECK(found[0].slower == doctest::Approx(1 / 3.2).epsilon(0.1));
    CHECK(std::string(found[0].phase) == "reading data");
    CHECK(stragglers.look(ranks).empty());
    CHECK(stragglers
              .look({rank(100, 0, 3 * second), rank(100, second, 3 * second),
                     rank(100, 0, 3 * second)})
              .empty());
}

TEST_CASE("only the same window of all ranks is compared, and only one that lasts") {
    Stragglers stragglers;
    CHECK(stragglers.look({rank(50, 0, second), rank(100, 0, 5 * second)}).empty());
    CHECK(stragglers.look({rank(50, 0, second), Sighting()}).empty());
    CHECK(stragglers.look({rank(50, 0, second / 10), rank(50, 0, second / 2)}).empty());
    CHECK(stragglers.look({rank(100, 0, second), rank(100, 0, 2 * second)}).size() == 1);
}

TEST_CASE("a pace is told by whole windows, at the same steps wherever a run begins") {
    Pace pace;
    for (std::int64_t step = 31; step <= 50; ++step) pace.add(step, 0.001, 0.002, 0.003);
    CHECK(pace.last().last_step == 0);
    for (std::int64_t step = 51; step <= 110; ++step) pace.add(step, 0.001, 0.002, 0.003);
    CHECK(pace.last().last_step == 100);
    CHECK(pace.last().data_us == 50'000);
    CHECK(pace.last().total_us() == 300'000);
}
