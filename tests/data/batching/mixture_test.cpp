// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "data/batching/joined_stores.hpp"
#include "data/batching/set_cursor.hpp"
#include "data/loading/step_loader.hpp"
#include "tests/data/step_runs.hpp"
#include "tests/support/memory_rows.hpp"

using namespace lockstep;
using namespace lockstep::data;
using tests::content, tests::Epochs, tests::run;
using Shards = std::vector<tests::MemoryRows::Shard>;

namespace {

struct MixtureSetup {
    std::vector<Shards> sets;
    std::vector<double> weights;
    BatchingOptions batching;
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
    std::int64_t window_batches = 4;
    int num_workers = 0;

    std::vector<SplitInfo> splits() const {
        std::vector<SplitInfo> splits;
        for (const Shards& shards : sets) {
            SplitInfo& split = splits.emplace_back();
            for (const auto& shard : shards) {
                split.shards.push_back({"", 0, shard.size(), 0, ""});
                split.rows += shard.size();
                for (const auto& [source, label] : shard) {
                    split.source_tokens += static_cast<std::uint64_t>(source);
                    split.target_tokens += static_cast<std::uint64_t>(label);
                }
            }
        }
        return splits;
    }

    WindowedMixture mixture() const {
        return choose_mixture(splits(), weights, BatchRules(batching, DatasetKind::dialogue), lanes,
                              window_batches);
    }

    std::unique_ptr<StepLoader> rank(int rank, int world) const {
        std::vector<JoinedStores::Part> stores;
        for (const Shards& shards : sets) {
            const auto rows = tests::rows_of(shards);
            stores.push_back({std::make_unique<tests::MemoryRows>(shards),
                              static_cast<std::int32_t>(shards.size()),
                              static_cast<std::uint32_t>(
                                  std::accumulate(rows.begin(), rows.end(), std::int64_t{0}))});
        }
        WindowedMixture chosen = mixture();
        return std::make_unique<StepLoader>(
            std::make_unique<StepPlanner>(joined(std::move(stores)), std::move(chosen.mixture),
                                          BatchRules(batching, DatasetKind::dialogue),
                                          RankLanes{seed, lanes, rank, world, window_batches}),
            num_workers);
    }

    // Which set a row of all belongs to, and its number there.
    std::pair<std::size_t, std::size_t> set_and_number(std::uint32_t row) const {
        std::size_t set = 0, first = 0;
        for (const SplitInfo& split : splits()) {
            if (row < first + split.rows) break;
            first += split.rows;
            ++set;
        }
        return {set, row - first};
    }
};

MixtureSetup random_setup(PhiloxStream& random, std::uint32_t fewest_rows, std::uint32_t max_rows) {
    MixtureSetup setup;
    const std::size_t sets = 2 + random.below(3);
    for (std::size_t i = 0; i < sets; ++i) {
        Shards& shards = setup.sets.emplace_back(1 + random.below(3));
        const int longest = 5 + static_cast<int>(random.below(40));
        const std::uint32_t rows = fewest_rows + random.below(max_rows - fewest_rows);
        for (std::size_t s = 0; s < shards.size(); ++s)
            shards[s] = tests::random_shard(
                random(),
                static_cast<int>(s == 0 ? rows - rows / 3 * (shards.size() - 1) : rows / 3),
                longest);
        setup.weights.push_back(random.below(8) == 0 ? 0.0 : 0.05 + random.uniform());
    }
    setup.weights[random.below(static_cast<std::uint32_t>(sets))] = 0.7;
    setup.seed = random();
    setup.lanes = 1 + random.below(7);
    setup.window_batches = 1 + random.below(8);
    setup.batching.dynamic = static_cast<Dynamic>(random.below(3));
    setup.batching.batchsize = 1 + random.below(12);
    setup.batching.n_positions = 48;
    return setup;
}

// Counts how often each row of each set is in these steps.
std::vector<std::vector<std::int64_t>> uses(const MixtureSetup& setup, const Epochs& epochs) {
    std::vector<std::vector<std::int64_t>> uses;
    for (const SplitInfo& split : setup.splits()) uses.emplace_back(split.rows);
    for (const auto& lanes : epochs.steps)
        for (const auto& lane : lanes)
            for (const std::uint32_t row : std::get<0>(lane)) {
                const auto [set, number] = setup.set_and_number(row);
                ++uses[set][number];
            }
    return uses;
}

}  // namespace

TEST_CASE("the share of each set is its weight, within 1 % of every 10,000 rows") {
    PhiloxStream random(101);
    for (int trial = 0; trial < 40; ++trial) {
        const MixtureSetup setup = random_setup(random, 200, 3000);
        const double weights = std::accumulate(setup.weights.begin(), setup.weights.end(), 0.0);
        const auto rank = setup.rank(0, 1);
        std::vector<double> seen(setup.sets.size());
        double rows = 0;
        for (int windows = 0; windows < 100'000 && rows < 25'000;) {
            const train::StepBatches step = rank->next();
            for (const train::Batch& batch : step.lanes)
                for (const std::uint32_t row : batch.rows) {
                    seen[setup.set_and_number(row).first] += 1;
                    rows += 1;
                }
            const bool window_ends = (step.position.step_in_epoch + 1) % setup.window_batches == 0;
            if (window_ends && rows >= 10'000)
                for (std::size_t set = 0; set < seen.size(); ++set) {
                    CAPTURE(trial);
                    CHECK(std::abs(seen[set] / rows - setup.weights[set] / weights) < 0.01);
                }
            if (step.lanes_finished == setup.lanes) rank->next_epoch();
            windows += window_ends ? 1 : 0;
        }
        CHECK(rows >= 10'000);
    }
}

TEST_CASE("each row of a set is used once in every pass, whatever the epochs") {
    PhiloxStream random(103);
    for (int trial = 0; trial < 30; ++trial) {
        const MixtureSetup setup = random_setup(random, 1, 60);
        const std::vector<SetShare> shares = setup.mixture().mixture.shares();
        for (const int epochs : {1, 2, 5}) {
            const Epochs all = run(setup, 1, epochs);
            const auto used = uses(setup, all);
            for (std::size_t set = 0; set < used.size(); ++set) {
                const std::int64_t given = epochs * shares[set].rows_per_epoch;
                const std::int64_t passes = given / shares[set].rows;
                std::int64_t once_more = 0;
                for (const std::int64_t times : used[set]) {
                    CHECK(times >= passes);
                    CHECK(times <= passes + 1);
                    once_more += times - passes;
                }
                CHECK(once_more == given % shares[set].rows);
            }
            for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
                for (std::size_t set = 0; set < used.size(); ++set) {
                    const SetShare& share = shares[set];
                    const auto first = share.passes_before(epoch),
                               end = share.passes_before(epoch + 1);
                    const SetCoverage& covered =
                        all.usage[static_cast<std::size_t>(epoch)].sets[set];
                    CHECK(covered.completed == complete_coverage(first, end, share.rows));
                    CHECK(covered.open.rows ==
                          (epoch + 1) * share.rows_per_epoch - end * share.rows);
                }
        }
    }
}

TEST_CASE("each pass has an order of its own") {
    const Shards shards{tests::random_shard(1, 40, 10)};
    tests::MemoryRows store(shards);
    const SetSequence sequence{lane_blocks(tests::rows_of(shards), 3, {0, 1}), 40};
    SetCursor cursor(store, sequence, 7, {0, 1}, {0, 120});
    std::vector<std::vector<std::uint32_t>> passes(3);
    while (!cursor.done()) {
        const RowExtent extent = cursor.next();
        passes.at(extent.pass).push_back(extent.row);
    }
    CHECK(passes[0] != passes[1]);
    CHECK(passes[1] != passes[2]);
    for (auto& pass : passes) std::sort(pass.begin(), pass.end());
    CHECK(passes[0] == passes[1]);
    CHECK(passes[1] == passes[2]);
    CHECK(passes[0].size() == 40);
}

TEST_CASE("lanes have alike of a set with fewer rows than lanes") {
    MixtureSetup setup;
    setup.sets = {{tests::random_shard(1, 3, 10)}, {tests::random_shard(2, 397, 10)}};
    setup.weights = {1, 1};
    setup.lanes = 4;
    const Epochs epochs = run(setup, 1, 1);
    std::vector<std::int64_t> small(4);
    for (const auto& lanes : epochs.steps)
        for (std::size_t lane = 0; lane < lanes.size(); ++lane)
            for (const std::uint32_t row : std::get<0>(lanes[lane]))
                small[lane] += setup.set_and_number(row).first == 0 ? 1 : 0;
    CHECK(small == std::vector<std::int64_t>{50, 50, 50, 50});
}

TEST_CASE("1, 2, 4 and 7 ranks, and any number of workers, take the same steps of several sets") {
    PhiloxStream random(107);
    for (int trial = 0; trial < 12; ++trial) {
        MixtureSetup setup = random_setup(random, 1, 200);
        setup.lanes = 7;
        const Epochs alone = run(setup, 1, 3);
        for (const int world : {2, 4, 7}) {
            setup.num_workers = world == 4 ? 0 : trial % 3;
            const Epochs together = run(setup, world, 3);
            CHECK(together.steps == alone.steps);
            for (std::size_t epoch = 0; epoch < 3; ++epoch)
                CHECK(together.usage[epoch].sets == alone.usage[epoch].sets);
        }
    }
}

TEST_CASE("several sets continue at any step as if every earlier one had been taken") {
    PhiloxStream random(109);
    for (int trial = 0; trial < 20; ++trial) {
        MixtureSetup setup = random_setup(random, 1, 120);
        setup.lanes = 4;
        setup.num_workers = static_cast<int>(random.below(3));
        const auto straight = setup.rank(1, 2);
        std::vector<train::StepBatches> steps;
        std::vector<Usage> usage;
        for (int epoch = 0; epoch < 4; ++epoch) {
            for (std::int64_t finished = 0; finished < 2;) {
                steps.push_back(straight->next());
                usage.push_back(straight->usage());
                finished = steps.back().lanes_finished;
            }
            straight->next_epoch();
        }
        for (int start = 0; start < 4; ++start) {
            const auto other = setup.rank(1, 2);
            const std::size_t from = random.below(static_cast<std::uint32_t>(steps.size()));
            other->seek(steps[from].position);
            for (std::size_t i = from; i < steps.size(); ++i) {
                if (i > from && steps[i].position.step_in_epoch == 0) other->next_epoch();
                const train::StepBatches step = other->next();
                for (std::size_t lane = 0; lane < step.lanes.size(); ++lane)
                    REQUIRE(content(step.lanes[lane]) == content(steps[i].lanes[lane]));
                REQUIRE(step.lanes_finished == steps[i].lanes_finished);
                REQUIRE(other->usage().sets == usage[i].sets);
                REQUIRE(other->usage().truncated_rows == usage[i].truncated_rows);
            }
        }
    }
}

TEST_CASE("an epoch is shared to the row, by weight") {
    const auto per_epoch = [](std::vector<std::int64_t> rows, std::vector<double> weights) {
        std::vector<std::int64_t> shares;
        for (const SetShare& share : share_epoch(rows, weights))
            shares.push_back(share.rows_per_epoch);
        return shares;
    };
    using Rows = std::vector<std::int64_t>;
    CHECK(per_epoch({100, 300}, {1, 1}) == Rows{200, 200});
    CHECK(per_epoch({100, 300}, {100, 300}) == Rows{100, 300});
    CHECK(per_epoch({100, 100, 50}, {1, 1, 0.5}) == Rows{100, 100, 50});
    CHECK(per_epoch({5, 5}, {1, 2}) == Rows{3, 7});
    CHECK(per_epoch({5, 5}, {0, 2}) == Rows{0, 10});
    CHECK(per_epoch({50, 50}, {1e-9, 1}) == Rows{1, 99});
    PhiloxStream random(113);
    for (int trial = 0; trial < 500; ++trial) {
        Rows rows;
        std::vector<double> sizes;
        for (std::uint32_t i = 0; i < 2 + random.below(5); ++i) {
            rows.push_back(1 + random.below(1'000'000));
            sizes.push_back(static_cast<double>(rows.back()));
        }
        CHECK(per_epoch(rows, sizes) == rows);
    }
}
