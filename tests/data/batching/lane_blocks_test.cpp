// SPDX-License-Identifier: Apache-2.0
#include "data/batching/lane_blocks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/core/philox.hpp"

using namespace lockstep;
using namespace lockstep::data;

TEST_CASE("with as many lanes as shards, a lane is a shard") {
    const std::vector<std::int64_t> shards{100, 93, 7};
    for (std::int64_t lane = 0; lane < 3; ++lane) {
        std::int64_t next = 0;
        for (const RowBlock& block : lane_blocks(shards, 8, {lane, 3})) {
            CHECK(block.shard == lane);
            CHECK(block.first == next);
            next += block.rows;
        }
        CHECK(next == shards[static_cast<std::size_t>(lane)]);
    }
}

TEST_CASE("lanes share every row out, whatever their number and the shards'") {
    PhiloxStream random(11);
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<std::int64_t> shards(1 + random.below(6));
        for (auto& rows : shards) rows = random.below(200);
        const std::int64_t lanes = 1 + random.below(7), block_rows = 1 + random.below(20);
        std::set<std::pair<int, std::int64_t>> seen;
        std::int64_t total = 0;
        for (std::int64_t lane = 0; lane < lanes; ++lane)
            for (const RowBlock& block : lane_blocks(shards, block_rows, {lane, lanes}))
                for (std::int64_t i = 0; i < block.rows; ++i, ++total)
                    seen.emplace(block.shard, block.first + i);
        std::int64_t rows = 0;
        for (const auto count : shards) rows += count;
        CHECK(total == rows);
        CHECK(static_cast<std::int64_t>(seen.size()) == rows);
    }
}

TEST_CASE("few rows make lanes of nearly equal size") {
    for (const std::int64_t lanes : {2, 3, 4, 8}) {
        const std::vector<std::int64_t> shards{1600, 1592};
        const std::int64_t block_rows = choose_block_rows(3192, lanes, 2048);
        std::int64_t least = 3192, most = 0;
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
            std::int64_t rows = 0;
            for (const RowBlock& block : lane_blocks(shards, block_rows, {lane, lanes}))
                rows += block.rows;
            least = std::min(least, rows);
            most = std::max(most, rows);
        }
        CHECK(most - least <= 3192 / lanes / 50);
    }
}

TEST_CASE("blocks grow with the data, up to a limit") {
    CHECK(choose_block_rows(10, 4, 100) == 1);
    CHECK(choose_block_rows(100'000'000, 8, 65'536) == 1024);
    CHECK(choose_block_rows(100'000'000, 8, 3'200) == 100);
}

TEST_CASE("rows that come in a rhythm do not make one lane longer than another") {
    // Every fourth row is long, as the last turn of a dialogue is.
    for (const std::int64_t lanes : {2, 4, 8}) {
        const std::vector<std::int64_t> shards{3200};
        std::vector<std::int64_t> long_rows;
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
            auto& count = long_rows.emplace_back(0);
            for (const RowBlock& block : lane_blocks(shards, 2, {lane, lanes}))
                for (std::int64_t i = 0; i < block.rows; ++i) count += (block.first + i) % 4 == 3;
        }
        const auto [least, most] = std::minmax_element(long_rows.begin(), long_rows.end());
        CHECK(*most < *least * 3 / 2);
    }
}

TEST_CASE("lanes that divide the shards have whole shards") {
    const std::vector<std::int64_t> shards{50, 50, 50, 50};
    for (const RowBlock& block : lane_blocks(shards, 8, {1, 2})) CHECK(block.shard % 2 == 1);
}
