// SPDX-License-Identifier: Apache-2.0
// An epoch whose rules change on the way, with other ranks and workers each time: each row is used
// exactly once, and the coverage says so because it counted them.
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <vector>

#include "data/loading/step_loader.hpp"
#include "runtime/core/philox.hpp"
#include "tests/support/memory_rows.hpp"

using namespace lockstep;
using namespace lockstep::data;
using Shards = std::vector<tests::MemoryRows::Shard>;

namespace {

constexpr std::int64_t lanes = 5;

struct Phase {
    BatchingOptions batching;
    std::int64_t window_batches = 4;
    int world = 1, workers = 0;

    Dealing dealing() const {
        return {BatchRules(batching, DatasetKind::dialogue), window_batches};
    }
};

Phase random_phase(PhiloxStream& random) {
    Phase phase;
    phase.batching.dynamic = static_cast<Dynamic>(random.below(3));
    phase.batching.batchsize = 1 + random.below(6);
    phase.batching.n_positions = 16 + random.below(20);
    phase.window_batches = 1 + random.below(6);
    phase.world = 1 + static_cast<int>(random.below(5));
    phase.workers = static_cast<int>(random.below(3));
    return phase;
}

// The ranks of one phase, side by side.
struct Ranks {
    std::vector<std::unique_ptr<StepLoader>> loaders;

    Ranks(const Shards& shards, const Phase& phase, std::uint64_t seed, const DealtEpoch& earlier,
          train::Position from) {
        for (int rank = 0; rank < phase.world; ++rank) {
            const RankLanes own{seed, lanes, rank, phase.world, phase.window_batches};
            loaders.push_back(std::make_unique<StepLoader>(
                std::make_unique<StepPlanner>(std::make_unique<tests::MemoryRows>(shards),
                                              Mixture(tests::rows_of(shards), 3),
                                              phase.dealing().rules, own, earlier),
                phase.workers));
            loaders.back()->seek(from);
        }
    }

    // Counts the rows of a step. Returns the number of lanes that have finished.
    std::int64_t step(std::map<std::uint32_t, int>& used) {
        std::int64_t finished = 0;
        for (auto& loader : loaders) {
            const train::StepBatches step = loader->next();
            finished += step.lanes_finished;
            for (const train::Batch& lane : step.lanes)
                for (const std::uint32_t row : lane.rows) ++used[row];
        }
        return finished;
    }

    Usage usage() const {
        Usage sum;
        for (const auto& loader : loaders) sum += loader->usage();
        return sum;
    }
};

}  // namespace

TEST_CASE("each row is used once in an epoch whose batches, windows and ranks change on the way") {
    PhiloxStream random(211);
    for (int trial = 0; trial < 60; ++trial) {
        CAPTURE(trial);
        Shards shards(1 + random.below(4));
        for (auto& shard : shards)
            shard = tests::random_shard(random(), 30 + static_cast<int>(random.below(90)), 30);
        std::int64_t rows = 0;
        for (const auto& shard : shards) rows += static_cast<std::int64_t>(shard.size());
        const std::int64_t epoch = random.below(2);
        DealtEpoch earlier{epoch, {}};
        std::map<std::uint32_t, int> used;
        std::int64_t finished = 0, step = 0;
        while (finished < lanes) {
            const Phase phase = random_phase(random);
            Ranks ranks(shards, phase, 7, earlier, {epoch, step});
            std::int64_t before = 0;
            for (const auto& [row, times] : used) before += times;
            REQUIRE(ranks.usage().rows == before);
            for (std::uint32_t i = 0; i < 1 + random.below(6) && finished < lanes; ++i, ++step)
                finished = ranks.step(used);
            if (finished < lanes) {
                earlier.parts.push_back({phase.dealing(), step});
                continue;
            }
            CHECK(
                ranks.usage().sets ==
                std::vector<SetCoverage>{{complete_coverage(epoch, epoch + 1, rows), Coverage{}}});
            CHECK(ranks.usage().rows == rows);
        }
        CHECK(static_cast<std::int64_t>(used.size()) == rows);
        for (const auto& [row, times] : used) CHECK(times == 1);
    }
}
