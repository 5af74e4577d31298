// SPDX-License-Identifier: Apache-2.0
#include "data/batching/lane_planner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/support/memory_rows.hpp"

using namespace lockstep;
using namespace lockstep::data;
using Shards = std::vector<tests::MemoryRows::Shard>;

namespace {

constexpr std::int64_t window_batches = 8;

std::vector<WindowPlan> plan_lane(const Shards& shards, const BatchRules& rules, Lane lane,
                                  PlanKey key, std::int64_t block_rows = 4,
                                  RowOrder order = RowOrder::shuffled) {
    tests::MemoryRows store(shards);
    const auto rows = tests::rows_of(shards);
    key.lane = lane.number;
    auto blocks = lane_blocks(rows, block_rows, lane);
    if (order == RowOrder::shuffled) blocks = shuffled_blocks(std::move(blocks), key);
    LanePlanner planner(std::make_unique<BlockFeed>(store, std::move(blocks)), rules, key,
                        window_batches, order);
    std::vector<WindowPlan> windows;
    while (!planner.done()) windows.push_back(planner.next());
    return windows;
}

std::int64_t tokens_of(const WindowPlan& plan, std::size_t batch, const BatchRules& rules) {
    std::int64_t sum = 0;
    for (std::size_t i = plan.begins[batch]; i < plan.begins[batch + 1]; ++i)
        sum += rules.fit(plan.rows[i]).tokens();
    return sum;
}

BatchingOptions random_options(PhiloxStream& random) {
    BatchingOptions options;
    options.dynamic = static_cast<Dynamic>(random.below(3));
    options.batchsize = 1 + random.below(12);
    options.n_positions = 8 + random.below(60);
    if (options.dynamic == Dynamic::full && random.below(2) == 0)
        options.batch_tokens = 10 + random.below(300);
    if (random.below(3) == 0) options.text_truncate = 1 + random.below(40);
    if (random.below(3) == 0) options.layout = Layout::decoder_only;
    return options;
}

// A batch keeps its limits; a window but the last has its number of batches.
void check_window(const WindowPlan& plan, const BatchRules& rules) {
    REQUIRE(plan.begins.front() == 0);
    REQUIRE(plan.begins.back() == plan.rows.size());
    if (plan.last)
        REQUIRE(plan.batches() <= window_batches);
    else
        REQUIRE(plan.batches() == window_batches);
    for (std::size_t b = 0; b < plan.batches(); ++b) {
        const std::size_t rows = plan.begins[b + 1] - plan.begins[b];
        REQUIRE(rows > 0);
        if (rules.dynamic() != Dynamic::full) {
            REQUIRE(static_cast<std::int64_t>(rows) <= rules.batchsize());
            if (!plan.last) REQUIRE(static_cast<std::int64_t>(rows) == rules.batchsize());
        } else if (rows > 1) {
            REQUIRE(tokens_of(plan, b, rules) <= rules.budget());
        }
    }
}

}  // namespace

TEST_CASE("every plan uses each row once and keeps its limits") {
    PhiloxStream random(5);
    for (int trial = 0; trial < 150; ++trial) {
        Shards shards(1 + random.below(4));
        int total = 0;
        for (auto& shard : shards) {
            shard = tests::random_shard(random(), static_cast<int>(random.below(150)), 60);
            total += static_cast<int>(shard.size());
        }
        const BatchRules rules(random_options(random), DatasetKind::dialogue);
        const std::int64_t lanes = 1 + random.below(5), block_rows = 1 + random.below(16);
        const PlanKey key{random(), random.below(3), 0};
        std::multiset<std::uint32_t> seen;
        for (std::int64_t lane = 0; lane < lanes; ++lane)
            for (const auto& plan : plan_lane(shards, rules, {lane, lanes}, key, block_rows)) {
                check_window(plan, rules);
                for (const RowExtent& row : plan.rows) seen.insert(row.row);
            }
        REQUIRE(static_cast<int>(seen.size()) == total);
        REQUIRE(std::set(seen.begin(), seen.end()).size() == seen.size());
    }
}

TEST_CASE("batches of a step come from the same quantile of length in all lanes") {
    BatchingOptions options;
    options.dynamic = Dynamic::batchsort;
    options.batchsize = 16;
    const BatchRules rules(options, DatasetKind::dialogue);
    const Shards shards{tests::random_shard(1, 6000, 100)};
    std::vector<std::vector<double>> mean_tokens;
    for (std::int64_t lane = 0; lane < 4; ++lane) {
        auto& means = mean_tokens.emplace_back();
        for (const auto& plan : plan_lane(shards, rules, {lane, 4}, {7, 0, 0}))
            for (std::size_t b = 0; b < plan.batches(); ++b)
                means.push_back(static_cast<double>(tokens_of(plan, b, rules)) /
                                static_cast<double>(plan.begins[b + 1] - plan.begins[b]));
    }
    const std::size_t steps = mean_tokens[0].size();
    double apart = 0, spread = 0;
    for (std::size_t step = 0; step < steps; ++step) {
        REQUIRE(mean_tokens[1].size() == steps);
        apart += std::abs(mean_tokens[0][step] - mean_tokens[1][step]);
        spread += std::abs(mean_tokens[0][step] - mean_tokens[1][steps - 1 - step]);
    }
    // Lanes agree step by step, where unrelated batches differ a lot.
    CHECK(apart < 0.3 * spread);
}

TEST_CASE("lanes whose last windows differ still agree in length") {
    BatchingOptions options;
    options.batch_tokens = 400;
    const BatchRules rules(options, DatasetKind::dialogue);
    // Each shard is a lane. The second has a tenth fewer rows, so fewer micro-batches.
    const Shards shards{tests::random_shard(1, 100, 100), tests::random_shard(2, 90, 100)};
    const auto longer = plan_lane(shards, rules, {0, 2}, {7, 0, 0});
    const auto shorter = plan_lane(shards, rules, {1, 2}, {7, 0, 0});
    const WindowPlan& a = longer.back();
    const WindowPlan& b = shorter.back();
    REQUIRE(a.last);
    REQUIRE(b.last);
    const auto mean = [&](const WindowPlan& plan, std::size_t i) {
        return static_cast<double>(tokens_of(plan, i, rules)) /
               static_cast<double>(plan.begins[i + 1] - plan.begins[i]);
    };
    // Ranks of the same random keys: if one batch is longer than another here, so it is there.
    std::size_t agree = 0, pairs = 0;
    const std::size_t common = std::min(a.batches(), b.batches());
    REQUIRE(common >= 2);
    for (std::size_t i = 0; i < common; ++i)
        for (std::size_t j = 0; j < i; ++j, ++pairs)
            agree += (mean(a, i) > mean(a, j)) == (mean(b, i) > mean(b, j)) ? 1u : 0u;
    CHECK(agree == pairs);
}

TEST_CASE("epochs and seeds give other orders, the same key the same") {
    BatchingOptions options;
    options.batchsize = 4;
    const Shards shards{tests::random_shard(1, 200, 40)};
    for (const Dynamic dynamic : {Dynamic::off, Dynamic::full, Dynamic::batchsort}) {
        options.dynamic = dynamic;
        options.n_positions = 64;
        const BatchRules rules(options, DatasetKind::dialogue);
        const auto order = [&](PlanKey key) {
            std::vector<std::uint32_t> rows;
            for (const auto& plan : plan_lane(shards, rules, {0, 2}, key))
                for (const RowExtent& row : plan.rows) rows.push_back(row.row);
            return rows;
        };
        CHECK(order({1, 0, 0}) == order({1, 0, 0}));
        CHECK(order({1, 0, 0}) != order({1, 1, 0}));
        CHECK(order({1, 0, 0}) != order({2, 0, 0}));
    }
}

TEST_CASE("without dynamic batching rows are mixed, not sorted") {
    BatchingOptions options;
    options.batchsize = 8;
    const BatchRules rules(options, DatasetKind::dialogue);
    const Shards shards{tests::random_shard(1, 400, 40)};
    const auto windows = plan_lane(shards, rules, {0, 1}, {1, 0, 0});
    int rising = 0, pairs = 0, neighbours = 0;
    for (const auto& plan : windows)
        for (std::size_t i = 1; i < plan.rows.size(); ++i, ++pairs) {
            rising += rules.fit(plan.rows[i]).tokens() > rules.fit(plan.rows[i - 1]).tokens();
            neighbours += plan.rows[i].row == plan.rows[i - 1].row + 1;
        }
    CHECK(rising > pairs * 4 / 10);
    CHECK(rising < pairs * 6 / 10);
    CHECK(neighbours < pairs / 10);
}

TEST_CASE("stored order is kept where nothing is shuffled or sorted") {
    const BatchRules rules({}, DatasetKind::dialogue);
    const Shards shards{tests::random_shard(1, 30, 40)};
    std::uint32_t expected = 0;
    for (const auto& plan : plan_lane(shards, rules, {0, 1}, {}, 4, RowOrder::as_stored))
        for (const RowExtent& row : plan.rows) CHECK(row.row == expected++);
    CHECK(expected == 30);
}

TEST_CASE("a lane without rows is done at once") {
    const BatchRules rules({}, DatasetKind::dialogue);
    CHECK(plan_lane({{{1, 1}}, {}}, rules, {1, 2}, {}).empty());
}
