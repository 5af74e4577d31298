// SPDX-License-Identifier: Apache-2.0
// Runs whose optimizer's state lies in a file must be those that have it in memory, bit for bit.
#include <doctest/doctest.h>

#include "tests/runtime/train/training_run.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using tests::RankRun;
using tests::RunSetup;

namespace {

constexpr int last_step = 12;

RunSetup run_of(int world, int stage, train::Precision precision) {
    RunSetup setup;
    setup.world = world;
    setup.precision = precision;
    if (stage > 0) setup.sharing = world;
    setup.stage = stage;
    setup.options.lanes = world;
    setup.options.optimizer.kind = train::OptimizerKind::adam;
    setup.options.optimizer.learningrate = 0.05;
    setup.options.optimizer.weight_decay = 0.01;
    setup.options.schedule.kind = train::ScheduleKind::fixed;
    setup.options.limits.max_train_steps = last_step;
    setup.options.save_every_n_steps = last_step / 2;
    setup.options.hash_every_n_updates = 1;
    setup.options.reducer.first_bucket_bytes = 64;
    setup.options.reducer.bucket_bytes = 256;
    return setup;
}

RunSetup stored(RunSetup setup, const tests::ScratchFolder& folder) {
    setup.options.optimizer.offload = train::Offload::optimizer;
    setup.options.optimizer.offload_dir = folder.path();
    return setup;
}

RunSetup continued(RunSetup setup, const tests::Snapshot& from) {
    setup.resume = from;
    return setup;
}

void check_same_end(const std::vector<RankRun>& expected, const std::vector<RankRun>& runs) {
    CHECK(runs[0].steps.back().loss == expected[0].steps.back().loss);
    CHECK(runs[0].steps.back().gnorm == expected[0].steps.back().gnorm);
    for (const RankRun& run : runs) CHECK(run.weights == expected[0].weights);
    const auto &save = runs[0].saves.back(), &other = expected[0].saves.back();
    CHECK(save.state.step == last_step);
    CHECK(save.weights == other.weights);
    CHECK(save.optimizer == other.optimizer);
}

}  // namespace

TEST_CASE("a state in a file trains as one in memory, and continues both ways, at every stage") {
    const tests::ScratchFolder folder;
    for (const auto precision : {train::Precision::fp32, train::Precision::bf16})
        for (const int world : {1, 2, 3})
            for (int stage = 0; stage <= (world > 1 ? 3 : 0); ++stage) {
                CAPTURE(world);
                CAPTURE(stage);
                const RunSetup setup = run_of(world, stage, precision);
                const auto kept = run_training(setup);
                REQUIRE(kept[0].saves.front().state.step == last_step / 2);
                const auto moved = run_training(stored(setup, folder));
                check_same_end(kept, moved);
                CHECK(moved[0].saves.front().optimizer == kept[0].saves.front().optimizer);
                const auto& middle = kept[0].saves.front();
                check_same_end(kept, run_training(stored(continued(setup, middle), folder)));
                check_same_end(kept, run_training(continued(setup, moved[0].saves.front())));
                CHECK(folder.names().empty());
            }
}
