// SPDX-License-Identifier: Apache-2.0
// Runs that continue from a checkpoint.
#include <doctest/doctest.h>

#include "runtime/core/error.hpp"
#include "runtime/train/loop/trainer.hpp"
#include "tests/runtime/train/loop/trainer_runs.hpp"
#include "tests/runtime/train/training_run.hpp"

using namespace lockstep;
using namespace lockstep::tests::trainer_runs;
using tests::RankRun;
using tests::RunSetup;
using train::ExitReason;

namespace {

void check_continued(const RunSetup& whole, const RankRun& expected, std::int64_t stop_at) {
    CAPTURE(stop_at);
    auto first = whole;
    first.on_step = [stop_at](const train::StepReport& report, tests::RankHandle handle) {
        if (report.step == stop_at - 1) handle.stop = true;
    };
    auto second = whole;
    second.resume = last_latest(run_training(first)[0]);
    CHECK(second.resume->state.step == stop_at);
    const auto continued = run_training(second);
    CHECK(continued[0].weights == expected.weights);
    CHECK(last_latest(continued[0]).optimizer == last_latest(expected).optimizer);
    CHECK(last_latest(continued[0]).codes == last_latest(expected).codes);
    CHECK(continued[0].state.updates == expected.state.updates);
    CHECK(continued[0].state.tokens == expected.state.tokens);
    CHECK(continued[0].steps.back().lr == expected.steps.back().lr);
}

}  // namespace

TEST_CASE("a run that was stopped and continued is bit for bit the uninterrupted one") {
    auto whole = two_ranks();
    whole.options.limits.max_train_steps = 40;
    whole.options.schedule.lr_scheduler_patience = 0;
    whole.options.validation.every_n_steps = 3;
    whole.options.validation.patience = 0;
    whole.options.save_after_valid = false;
    using train::OptimizerKind;
    for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw,
                            OptimizerKind::adafactor, OptimizerKind::lion, OptimizerKind::muon})
        for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
            CAPTURE(static_cast<int>(kind));
            CAPTURE(static_cast<int>(precision));
            whole.options.optimizer.kind = kind;
            whole.options.optimizer.amsgrad = kind == OptimizerKind::adam;
            whole.options.optimizer.momentum = kind == OptimizerKind::sgd ? 0.9 : 0;
            whole.precision = precision;
            const RankRun expected = run_training(whole)[0];
            if (kind == OptimizerKind::adam)
                CHECK(expected.steps.back().lr < whole.options.optimizer.learningrate);
            CHECK(expected.steps[8].epoch == 1.0);
            // Validations are due at 3, 6 and 9, and an epoch ends at 9.
            for (const std::int64_t stop_at : {2, 3, 4, 5, 6, 8, 9, 10, 17})
                check_continued(whole, expected, stop_at);
        }
}

TEST_CASE("a run with moments in int8 continues bit for bit") {
    auto whole = two_ranks();
    whole.options.limits.max_train_steps = 20;
    whole.options.validation.every_n_steps = 3;
    whole.options.validation.patience = 0;
    whole.options.save_after_valid = false;
    whole.options.optimizer.kind = train::OptimizerKind::adamw;
    whole.options.optimizer.moments = train::Moments::int8;
    for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
        whole.precision = precision;
        const RankRun expected = run_training(whole)[0];
        for (const std::int64_t stop_at : {2, 3, 8, 17}) check_continued(whole, expected, stop_at);
    }
}

TEST_CASE("a validation that a stop abandoned is made by the run that continues, bit for bit") {
    auto whole = two_ranks();
    whole.options.limits.max_train_steps = 12;
    whole.options.schedule.lr_scheduler_patience = 0;
    whole.options.validation.every_n_steps = 3;
    whole.options.validation.patience = 0;
    const auto expected = run_training(whole);
    auto first = whole;
    first.abandons = [](std::size_t n) { return n == 1; };
    const auto interrupted = run_training(first);
    for (const RankRun& run : interrupted) {
        CHECK(run.reason == ExitReason::stop_requested);
        CHECK(run.state.step == 6);
        CHECK(run.validations.size() == 1);
        CHECK(run.saves.back().weights == run.weights);
    }
    auto second = whole;
    second.resume = last_latest(interrupted[0]);
    const auto continued = run_training(second);
    REQUIRE(continued[0].validations.size() >= 1);
    CHECK(continued[0].validations.front().updates == 6);
    CHECK(continued[0].weights == expected[0].weights);
    CHECK(continued[0].steps.back().lr == expected[0].steps.back().lr);
}

TEST_CASE("another number of lanes cannot continue a run") {
    auto setup = two_ranks();
    setup.resume = last_latest(run_training(setup)[0]);
    setup.options.lanes = 4;
    CHECK_THROWS_WITH_AS(run_training(setup), doctest::Contains("--logical-shards 4"), Error);
}
