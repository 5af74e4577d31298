// SPDX-License-Identifier: Apache-2.0
#include "data/loading/step_loader.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "runtime/core/error.hpp"
#include "tests/data/step_runs.hpp"
#include "tests/support/memory_rows.hpp"

using namespace lockstep;
using namespace lockstep::data;
using tests::content, tests::Content, tests::Epochs, tests::rows_of_lanes, tests::run;
using Shards = std::vector<tests::MemoryRows::Shard>;

namespace {

struct Setup {
    Shards shards;
    BatchingOptions batching;
    std::uint64_t seed = 1;
    std::int64_t lanes = 1;
    int num_workers = 0;
    train::LaneSharing sharing = train::LaneSharing::whole;
    std::int64_t fail_after_reads = -1;

    std::unique_ptr<StepLoader> rank(int rank, int world) const {
        auto store = std::make_unique<tests::MemoryRows>(shards);
        store->fail_after_reads = fail_after_reads;
        const RankLanes options{seed, lanes, rank, world, 4, sharing};
        return std::make_unique<StepLoader>(
            std::make_unique<StepPlanner>(std::move(store), Mixture(tests::rows_of(shards), 3),
                                          BatchRules(batching, DatasetKind::dialogue), options),
            num_workers);
    }
};

Setup random_setup(PhiloxStream& random) {
    Setup setup;
    setup.shards.resize(1 + random.below(4));
    for (auto& shard : setup.shards)
        shard = tests::random_shard(random(), static_cast<int>(random.below(60)), 30);
    setup.seed = random();
    setup.lanes = 4;
    setup.batching.dynamic = static_cast<Dynamic>(random.below(3));
    setup.batching.batchsize = 1 + random.below(4);
    setup.batching.n_positions = 16 + random.below(20);
    if (random.below(3) == 0) setup.batching.layout = Layout::decoder_only;
    return setup;
}

std::int64_t rows_of(const Setup& setup) {
    std::int64_t total = 0;
    for (const auto& shard : setup.shards) total += static_cast<std::int64_t>(shard.size());
    return total;
}

}  // namespace

TEST_CASE("any world gives the same steps, and each row once an epoch") {
    PhiloxStream random(17);
    for (int trial = 0; trial < 25; ++trial) {
        const Setup setup = random_setup(random);
        const Epochs alone = run(setup, 1, 3);
        for (std::int64_t epoch = 0; epoch < 3; ++epoch)
            CHECK(alone.usage[static_cast<std::size_t>(epoch)].sets ==
                  std::vector<SetCoverage>{
                      {complete_coverage(epoch, epoch + 1, rows_of(setup)), Coverage{}}});
        for (const int world : {2, 3, 4, 7, 12}) {
            const Epochs together = run(setup, world, 3);
            CHECK(together.steps == alone.steps);
            for (std::size_t epoch = 0; epoch < 3; ++epoch)
                CHECK(together.usage[epoch].sets == alone.usage[epoch].sets);
        }
    }
}

TEST_CASE("ranks beyond the number of lanes divide the rows of the micro-batches") {
    PhiloxStream random(41);
    for (int trial = 0; trial < 12; ++trial) {
        Setup setup = random_setup(random);
        setup.num_workers = trial % 3;
        const Epochs alone = run(setup, 1, 3);
        setup.sharing = train::LaneSharing::divided;
        for (const int world : {3, 5, 8, 11}) {
            CAPTURE(world);
            const Epochs together = run(setup, world, 3);
            CHECK(rows_of_lanes(together, 4) == rows_of_lanes(alone, 4));
            for (std::size_t epoch = 0; epoch < 3; ++epoch)
                CHECK(together.usage[epoch].sets == alone.usage[epoch].sets);
        }
    }
}

TEST_CASE("a run continues in mid-epoch on ranks that divide the lanes") {
    PhiloxStream random(43);
    for (int trial = 0; trial < 12; ++trial) {
        Setup setup = random_setup(random);
        if (rows_of(setup) == 0) continue;
        const Epochs alone = run(setup, 1, 1);
        setup.sharing = train::LaneSharing::divided;
        const auto from = static_cast<std::int64_t>(
            random.below(static_cast<std::uint32_t>(alone.steps_of_epoch[0])));
        const int world = 5 + static_cast<int>(random.below(4));
        Usage usage;
        std::int64_t before = 0;
        for (int r = 0; r < world; ++r) {
            const auto rank = setup.rank(r, world);
            rank->seek({0, from});
            before += rank->usage().rows;
            for (auto step = from; step < alone.steps_of_epoch[0]; ++step) rank->next();
            usage += rank->usage();
        }
        CHECK(usage.sets == alone.usage[0].sets);
        std::int64_t expected = 0;
        for (std::int64_t step = 0; step < from; ++step)
            for (const Content& lane : alone.steps[static_cast<std::size_t>(step)])
                expected += static_cast<std::int64_t>(std::get<0>(lane).size());
        CHECK(before == expected);
    }
}

TEST_CASE("any number of workers gives the same steps") {
    PhiloxStream random(23);
    for (int trial = 0; trial < 8; ++trial) {
        Setup setup = random_setup(random);
        const Epochs expected = run(setup, 2, 3);
        for (const int workers : {1, 2, 5}) {
            setup.num_workers = workers;
            CHECK(run(setup, 2, 3).steps == expected.steps);
        }
    }
}

TEST_CASE("an epoch ends with a step that has a batch") {
    PhiloxStream random(29);
    for (int trial = 0; trial < 20; ++trial) {
        const Setup setup = random_setup(random);
        if (rows_of(setup) == 0) continue;
        const Epochs epochs = run(setup, 2, 1);
        std::size_t used = 0;
        for (const Content& lane : epochs.steps.back()) used += std::get<0>(lane).size();
        CHECK(used > 0);
    }
}

TEST_CASE("seek continues as if every earlier step had been taken") {
    PhiloxStream random(31);
    for (int trial = 0; trial < 12; ++trial) {
        Setup setup = random_setup(random);
        setup.num_workers = static_cast<int>(random.below(3));
        const auto straight = setup.rank(1, 2);
        std::vector<train::StepBatches> steps;
        std::vector<std::vector<SetCoverage>> coverage;
        std::vector<std::int64_t> truncated;
        for (int epoch = 0; epoch < 2; ++epoch) {
            std::int64_t finished = 0;
            while (finished < 2) {
                steps.push_back(straight->next());
                finished = steps.back().lanes_finished;
                coverage.push_back(straight->usage().sets);
                truncated.push_back(straight->usage().truncated_rows);
            }
            straight->next_epoch();
        }
        const auto other = setup.rank(1, 2);
        if (trial % 2 == 0) other->next();
        const std::size_t from = random.below(static_cast<std::uint32_t>(steps.size()));
        other->seek(steps[from].position);
        for (std::size_t i = from; i < steps.size(); ++i) {
            if (i > from && steps[i].position.step_in_epoch == 0) other->next_epoch();
            const train::StepBatches step = other->next();
            REQUIRE(step.lanes.size() == steps[i].lanes.size());
            for (std::size_t lane = 0; lane < step.lanes.size(); ++lane)
                CHECK(content(step.lanes[lane]) == content(steps[i].lanes[lane]));
            CHECK(step.lanes_finished == steps[i].lanes_finished);
            CHECK(other->usage().sets == coverage[i]);
            CHECK(other->usage().truncated_rows == truncated[i]);
        }
    }
}

TEST_CASE("seek does not read the tokens of windows it passes over") {
    const Shards shards{tests::random_shard(1, 2000, 30)};
    auto owned = std::make_unique<tests::MemoryRows>(shards);
    tests::MemoryRows& store = *owned;
    BatchingOptions batching;
    batching.batchsize = 4;
    StepPlanner planner(std::move(owned), Mixture(tests::rows_of(shards), 3),
                        BatchRules(batching, DatasetKind::dialogue), {1, 1, 0, 1, 4});
    const Usage usage = planner.seek({0, 400});
    CHECK(usage.sets.at(0).completed.rows == 1600);
    CHECK(store.tokens_read == 0);
    planner.next();
    CHECK(store.tokens_read > 0);
}

TEST_CASE("a rank whose lanes have run dry gives empty batches until the epoch is ended") {
    Setup setup;
    setup.lanes = 2;
    setup.shards = {tests::random_shard(1, 40, 10), tests::random_shard(2, 2, 10)};
    setup.num_workers = 2;
    const auto rank = setup.rank(1, 2);
    CHECK_FALSE(rank->next().lanes[0].empty());
    const train::StepBatches last = rank->next();
    CHECK_FALSE(last.lanes[0].empty());
    CHECK(last.lanes_finished == 1);
    for (int i = 0; i < 3; ++i) {
        const train::StepBatches dry = rank->next();
        CHECK(dry.lanes.size() == 1);
        CHECK(dry.lanes[0].empty());
        CHECK(dry.lanes_finished == 1);
        CHECK(dry.position.step_in_epoch == 2 + i);
    }
    rank->next_epoch();
    const train::StepBatches fresh = rank->next();
    CHECK(fresh.position.epoch == 1);
    CHECK_FALSE(fresh.lanes[0].empty());
}

TEST_CASE("an epoch may be ended early") {
    Setup setup;
    setup.shards = {tests::random_shard(1, 40, 10)};
    for (const int workers : {0, 2}) {
        setup.num_workers = workers;
        const auto cut_short = setup.rank(0, 1);
        cut_short->next();
        cut_short->next_epoch();
        CHECK(cut_short->usage().sets.at(0).completed == Coverage{});
        const auto other = setup.rank(0, 1);
        other->seek({1, 0});
        CHECK(content(cut_short->next().lanes[0]) == content(other->next().lanes[0]));
    }
}

TEST_CASE("fewer rows than lanes still make an epoch") {
    Setup setup;
    setup.lanes = 4;
    setup.shards = {{{3, 2}}};
    const Epochs epochs = run(setup, 4, 2);
    CHECK(epochs.steps_of_epoch == std::vector<std::int64_t>{1, 1});
    CHECK(epochs.usage[1].sets.at(0).completed == complete_coverage(1, 2, 1));
}

TEST_CASE("an error while reading ahead is thrown by next, at its step, and stays") {
    Setup setup;
    setup.shards = {tests::random_shard(1, 400, 10)};
    setup.batching.batchsize = 2;
    setup.fail_after_reads = 12;
    std::vector<int> steps_before;
    for (const int workers : {0, 1, 3}) {
        setup.num_workers = workers;
        const auto rank = setup.rank(0, 1);
        int& steps = steps_before.emplace_back(0);
        std::string message;
        try {
            for (;; ++steps) rank->next();
        } catch (const Error& error) {
            message = error.what();
        }
        CHECK(message == "planted damage");
        if (workers > 0) CHECK_THROWS_AS(rank->next(), Error);
    }
    CHECK(steps_before[1] == steps_before[0]);
    CHECK(steps_before[2] == steps_before[0]);
}

TEST_CASE("coverage notices a row missing, used twice or of another epoch") {
    const std::vector<std::uint32_t> all{3, 1, 0, 2}, missing{0, 1, 2}, twice{0, 1, 2, 2};
    const auto of = [](std::int64_t epoch, const std::vector<std::uint32_t>& ids) {
        Coverage coverage;
        for (const std::uint32_t id : ids) coverage.add(epoch, id);
        return coverage;
    };
    CHECK(of(0, all) == complete_coverage(0, 1, 4));
    CHECK_FALSE(of(0, missing) == complete_coverage(0, 1, 4));
    CHECK_FALSE(of(0, twice) == complete_coverage(0, 1, 4));
    CHECK(of(1, all).hash != of(0, all).hash);
}
