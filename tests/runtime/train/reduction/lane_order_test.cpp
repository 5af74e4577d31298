// SPDX-License-Identifier: Apache-2.0
// A deterministic run has the same bits on any number of ranks.
#include <doctest/doctest.h>

#include "tests/runtime/train/training_run.hpp"

using namespace lockstep;
using tests::RankRun;
using tests::RunSetup;
using train::LaneOrder;
using train::OptimizerKind;

namespace {

constexpr std::int64_t lanes = 12;

// The lanes run dry at different steps of an epoch, and two epochs end within the run.
RunSetup setup_of(int world, LaneOrder order = LaneOrder::fixed) {
    RunSetup setup;
    setup.world = world;
    setup.rows = 250;
    setup.options.lanes = lanes;
    setup.options.optimizer.learningrate = 0.05;
    setup.options.optimizer.gradient_clip = 0.3;
    setup.options.schedule.warmup_updates = 4;
    setup.options.limits.max_train_steps = 20;
    setup.options.hash_every_n_updates = 1;
    setup.options.reducer.first_bucket_bytes = 64;
    setup.options.reducer.bucket_bytes = 256;
    setup.options.reducer.lane_order = order;
    return setup;
}

void check_same(const std::vector<RankRun>& runs, const RankRun& expected) {
    for (const RankRun& run : runs) CHECK(run.weights == expected.weights);
    REQUIRE(runs[0].steps.size() == expected.steps.size());
    for (std::size_t i = 0; i < expected.steps.size(); ++i) {
        CAPTURE(i);
        CHECK(runs[0].steps[i].loss == expected.steps[i].loss);
        CHECK(runs[0].steps[i].gnorm == expected.steps[i].gnorm);
        CHECK(runs[0].steps[i].token_acc == expected.steps[i].token_acc);
        CHECK(runs[0].steps[i].epoch == expected.steps[i].epoch);
    }
    CHECK(runs[0].saves.back().optimizer == expected.saves.back().optimizer);
}

}  // namespace

TEST_CASE("a deterministic run has the same bits on 1 to 17 ranks") {
    const RankRun alone = run_training(setup_of(1))[0];
    REQUIRE(alone.state.position.epoch >= 2);
    int clipped = 0, dry = 0;
    for (const auto& step : alone.steps) {
        clipped += step.clipped > 0 ? 1 : 0;
        dry += step.lanes < lanes ? 1 : 0;
    }
    CHECK(clipped > 0);
    CHECK(dry > 0);
    for (const int world : {2, 3, 4, 5, 6, 7, 11, 12, 17}) {
        CAPTURE(world);
        check_same(run_training(setup_of(world)), alone);
    }
}

TEST_CASE("the order of the sums matters: without a fixed one the bits differ") {
    const RankRun alone = run_training(setup_of(1, LaneOrder::any))[0];
    for (const int world : {3, 5}) {
        const RankRun other = run_training(setup_of(world, LaneOrder::any))[0];
        CHECK_FALSE(other.weights == alone.weights);
    }
}

TEST_CASE("a deterministic run has the same bits with every optimizer, in fp32 and bf16") {
    for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw,
                            OptimizerKind::adafactor, OptimizerKind::lion, OptimizerKind::muon})
        for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
            CAPTURE(static_cast<int>(kind));
            CAPTURE(static_cast<int>(precision));
            const auto of = [&](int world) {
                RunSetup setup = setup_of(world);
                setup.precision = precision;
                setup.options.optimizer.kind = kind;
                setup.options.optimizer.momentum = kind == OptimizerKind::sgd ? 0.9 : 0;
                setup.options.optimizer.amsgrad = kind == OptimizerKind::adam;
                setup.options.optimizer.weight_decay = 0.01;
                return setup;
            };
            const RankRun alone = run_training(of(1))[0];
            for (const int world : {3, 4, 5}) {
                CAPTURE(world);
                check_same(run_training(of(world)), alone);
            }
        }
}

TEST_CASE("a deterministic run has the same bits with moments in int8, on 1 to 7 ranks") {
    for (const auto kind : {train::OptimizerKind::adam, train::OptimizerKind::adamw})
        for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
            const auto of = [&](int world) {
                RunSetup setup = setup_of(world);
                setup.precision = precision;
                setup.options.optimizer.kind = kind;
                setup.options.optimizer.moments = train::Moments::int8;
                setup.options.optimizer.weight_decay = 0.01;
                return setup;
            };
            const RankRun alone = run_training(of(1))[0];
            for (const int world : {2, 4, 7}) {
                CAPTURE(world);
                check_same(run_training(of(world)), alone);
            }
            RunSetup exact = of(1);
            exact.options.optimizer.moments = train::Moments::fp32;
            CHECK_FALSE(run_training(exact)[0].weights == alone.weights);
        }
}

TEST_CASE("a deterministic run has the same bits with any buckets, overlap and loss scale") {
    const RankRun alone = run_training(setup_of(1))[0];
    RunSetup other = setup_of(5);
    other.options.reducer.overlap = train::Overlap::off;
    check_same(run_training(other), alone);
    other.options.reducer.bucket_bytes = std::size_t{1} << 20;
    check_same(run_training(other), alone);
    const auto scaled = [](int world) {
        RunSetup setup = setup_of(world);
        setup.options.loss_scaling = {kernels::LossScaling::Kind::dynamic, 0x1p15F, 0x1p-5F};
        setup.options.loss_scaling.window = 4;
        return setup;
    };
    check_same(run_training(scaled(7)), run_training(scaled(1))[0]);
}

TEST_CASE("a deterministic run has the same bits when its number of ranks changes") {
    for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
        RunSetup whole = setup_of(1);
        whole.precision = precision;
        const RankRun expected = run_training(whole)[0];
        std::optional<tests::Snapshot> state;
        RankRun last;
        std::int64_t steps = 0;
        for (const int world : {2, 12, 5, 15, 1}) {
            CAPTURE(world);
            RunSetup part = setup_of(world);
            part.precision = precision;
            part.options.limits.max_train_steps = steps += 4;
            part.resume = state;
            last = run_training(part)[0];
            state = last.saves.back();
        }
        CHECK(steps == whole.options.limits.max_train_steps);
        CHECK(last.weights == expected.weights);
        CHECK(last.saves.back().optimizer == expected.saves.back().optimizer);
    }
}
