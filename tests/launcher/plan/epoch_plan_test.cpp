// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/epoch_plan.hpp"

#include <doctest/doctest.h>

#include "data/loading/step_loader.hpp"
#include "data/storage/shard_store.hpp"
#include "tests/support/files.hpp"
#include "tests/support/written_dataset.hpp"

using namespace lockstep;
using namespace lockstep::data;
using namespace lockstep::launcher::plan;

namespace {

struct Written {
    tests::ScratchFolder directory;
    Dataset dataset;

    Written() : dataset(written(directory)) {}

    static Dataset written(const tests::ScratchFolder& directory) {
        tests::write_dataset(directory.path(), tests::random_shard(5, 900, 60),
                             tests::random_shard(6, 10, 10), 2);
        return Dataset::open(directory.path());
    }
};

// Returns the plan of the steps that the loader gives in the first epoch.
EpochPlan loaded(const Dataset& dataset, const StepLoaderOptions& options) {
    const auto loader = open_step_source({&dataset, 1}, options);
    EpochPlan plan;
    for (bool last = false; !last; ++plan.steps) {
        const train::StepBatches step = loader->next();
        last = step.lanes_finished == options.lanes;
        plan.step_rows.push_back(0);
        for (const train::Batch& batch : step.lanes) {
            if (batch.empty()) continue;
            const auto rows = static_cast<std::int64_t>(batch.rows.size());
            ++plan.shapes[{batch.source.total(), batch.target.total(), rows, batch.source.longest,
                           batch.target.longest}];
            plan.rows += rows;
            plan.step_rows.back() += rows;
            plan.truncated_rows += batch.truncated_rows;
            for (const train::RaggedTokens* side : {&batch.source, &batch.target}) {
                plan.tokens += side->real();
                plan.filler += side->total() - side->real();
            }
        }
    }
    return plan;
}

}  // namespace

TEST_CASE("of so many micro-batches a rank meets the last of the smallest ones, or a larger one") {
    const auto shape = [](std::int64_t source, std::int64_t target) {
        return train::BatchShape{source, target, 1};
    };
    EpochPlan plan;
    plan.shapes = {{shape(1, 9), 1}, {shape(2, 2), 3}, {shape(5, 1), 2}};  // 10, 4 and 6 tokens
    const auto tokens = [&](std::int64_t batches) {
        const train::BatchShape met = met_for_certain(plan, batches);
        return met.source_total + met.target_total;
    };
    CHECK(tokens(0) == 0);
    CHECK(tokens(1) == 4);
    CHECK(tokens(3) == 4);
    CHECK(tokens(4) == 6);
    CHECK(tokens(6) == 10);
    CHECK(tokens(7) == 10);
}

TEST_CASE("an epoch's plan is what the loader gives, shape by shape") {
    const Written data;
    const SplitInfo& split = data.dataset.split("train");
    for (const Dynamic dynamic : {Dynamic::off, Dynamic::batchsort, Dynamic::full})
        for (const Layout layout : {Layout::encoder_decoder, Layout::decoder_only})
            for (const std::int64_t lanes : {1, 3}) {
                StepLoaderOptions options;
                options.batching.batchsize = 8;
                options.batching.dynamic = dynamic;
                options.batching.layout = layout;
                options.batching.n_positions = 50;
                options.lanes = lanes;
                options.seed = 9;
                const BatchRules rules(options.batching, data.dataset.kind());
                ShardStore store(data.dataset, split);
                const EpochPlan plan =
                    plan_epoch(store, {&split, 1}, rules, {options.seed, lanes, {}});
                const EpochPlan expected = loaded(data.dataset, options);
                CHECK(plan.shapes == expected.shapes);
                CHECK(plan.rows == expected.rows);
                CHECK(plan.truncated_rows == expected.truncated_rows);
                CHECK(plan.tokens == expected.tokens);
                CHECK(plan.filler == expected.filler);
                CHECK(plan.steps == expected.steps);
                CHECK(plan.step_rows == expected.step_rows);
                CHECK(plan.all_rows == plan.rows);
            }
}

TEST_CASE("of many rows a part is planned, and the steps are reckoned from it") {
    const Written data;
    const SplitInfo& split = data.dataset.split("train");
    BatchingOptions options;
    options.batchsize = 4;
    options.n_positions = 50;
    const BatchRules rules(options, data.dataset.kind());
    ShardStore store(data.dataset, split);
    const EpochPlan part = plan_epoch(store, {&split, 1}, rules, {1, 1, {}, 100});
    CHECK(part.rows >= 100);
    CHECK(part.rows < 900);
    CHECK(part.steps == 225);
}
