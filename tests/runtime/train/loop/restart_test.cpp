// SPDX-License-Identifier: Apache-2.0
// What a restart must not forget: times, counts, and that the run has ended.
#include <doctest/doctest.h>

#include "runtime/train/loop/trainer.hpp"
#include "tests/runtime/train/training_run.hpp"

using namespace lockstep;
using tests::RankRun;
using tests::RunSetup;
using tests::Snapshot;
using train::ExitReason;

namespace {

RunSetup twelve_updates() {
    RunSetup setup;
    setup.world = 2;
    setup.options.lanes = 3;
    setup.options.optimizer.learningrate = 0.05;
    setup.options.limits.max_train_steps = 12;
    return setup;
}

// A run ends with the save of its checkpoint.
const Snapshot& saved_at_the_end(const RankRun& run) {
    REQUIRE(run.saves.back().kind == train::CheckpointKind::latest);
    return run.saves.back();
}

}  // namespace

TEST_CASE("validations by shares of an epoch are the same on any ranks, and after a stop") {
    auto setup = twelve_updates();
    setup.options.limits = {2.5, -1, -1};
    setup.options.validation.every_n_epochs = 0.1;
    setup.options.validation.patience = 0;
    setup.options.save_after_valid = false;
    setup.options.lanes = 2;
    setup.batchsize = 1;  // 2 rows a step, and 1 in the last ones of an epoch, of 60
    const auto epochs_of = [](const RankRun& run, std::vector<double> at = {}) {
        for (const auto& report : run.validations) at.push_back(report.epoch);
        return at;
    };
    const auto expected = run_training(setup)[0];
    CHECK(expected.reason == ExitReason::epochs_done);
    CHECK(expected.state.epochs == 2.5);
    CHECK(expected.validations.size() == 25);
    for (std::size_t k = 0; k < expected.validations.size(); ++k)
        CHECK(expected.validations[k].epoch == static_cast<double>(k + 1) / 10);
    setup.world = 1;
    CHECK(epochs_of(run_training(setup)[0]) == epochs_of(expected));
    for (const std::int64_t stop_at : {1, 3, 4, 35, 40}) {
        CAPTURE(stop_at);
        auto first = setup;
        first.on_step = [&](const train::StepReport& report, tests::RankHandle handle) {
            if (report.step == stop_at) handle.stop = true;
        };
        const auto begun = run_training(first)[0];
        auto second = setup;
        second.resume = saved_at_the_end(begun);
        CHECK(epochs_of(run_training(second)[0], epochs_of(begun)) == epochs_of(expected));
    }
}

TEST_CASE("a restart forgets neither the training time nor that since the last validation") {
    auto setup = twelve_updates();
    setup.options.limits.max_train_steps = 4;
    setup.options.validation.every_n_secs = 1e6;
    const auto begun = run_training(setup)[0];
    REQUIRE(begun.validations.size() == 1);  // the one at the end, which does not count
    CHECK(saved_at_the_end(begun).state.seconds > 0);
    CHECK(saved_at_the_end(begun).state.validation.since_s > 0);

    setup.resume = saved_at_the_end(begun);
    setup.resume->state.seconds = 3e6;
    setup.resume->state.validation.since_s = 5e5;
    setup.options.limits.max_train_steps = 8;
    const auto later = run_training(setup)[0];
    CHECK(later.validations.size() == 1);
    CHECK(saved_at_the_end(later).state.seconds > 3e6);
    CHECK(saved_at_the_end(later).state.validation.since_s > 5e5);

    setup.resume = saved_at_the_end(later);
    setup.resume->state.validation.since_s = 2e6;
    setup.options.limits.max_train_steps = 12;
    const auto last = run_training(setup)[0];
    REQUIRE(last.validations.size() == 2);
    CHECK(last.validations[0].updates == 8);  // before the first step
    CHECK(last.validations[1].updates == 12);
    for (const Snapshot& save : last.saves) CHECK(save.state.validation.since_s < 1e6);

    setup.resume = saved_at_the_end(last);
    setup.options.limits = {-1, -1, 3e6};
    CHECK(run_training(setup)[0].reason == ExitReason::time_over);
}

TEST_CASE("a run that was stopped saves after the same updates as one that was not") {
    auto setup = twelve_updates();
    setup.options.save_every_n_steps = 4;
    const auto saved = [](const RankRun& run) {
        std::vector<std::int64_t> at;
        for (const Snapshot& save : run.saves) at.push_back(save.state.updates);
        return at;
    };
    CHECK(saved(run_training(setup)[0]) == std::vector<std::int64_t>{4, 8, 12});
    auto first = setup;
    first.on_step = [](const train::StepReport& report, tests::RankHandle handle) {
        if (report.step == 2) handle.stop = true;
    };
    setup.resume = saved_at_the_end(run_training(first)[0]);
    REQUIRE(setup.resume->state.updates == 3);
    CHECK(saved(run_training(setup)[0]) == std::vector<std::int64_t>{4, 8, 12});
}

TEST_CASE("a run that its validations have ended is not validated or trained again") {
    auto setup = twelve_updates();
    setup.options.limits.max_train_steps = 100;
    setup.options.validation.every_n_steps = 2;
    setup.options.validation.metric = "loss";
    setup.validation_loss = [](std::size_t) { return 2.0; };
    const auto again = [&](const RankRun& ended) {
        auto resumed = setup;
        resumed.resume = saved_at_the_end(ended);
        return run_training(resumed)[0];
    };
    setup.options.validation.patience = 2;
    const auto patient = run_training(setup)[0];
    CHECK(patient.state.updates == 6);
    CHECK(patient.state.ended == "2 validations in a row were no better");
    CHECK(saved_at_the_end(patient).state.ended == patient.state.ended);
    const auto still = again(patient);
    CHECK(still.reason == ExitReason::patience_over);
    CHECK(still.validations.empty());
    CHECK(still.steps.empty());
    setup.options.validation.patience = 3;
    CHECK(again(patient).state.updates == 8);

    setup.options.validation.patience = 0;
    setup.options.validation.has_cutoff = true;
    setup.options.validation.cutoff = 2;
    const auto good = run_training(setup)[0];
    CHECK(good.reason == ExitReason::cutoff_reached);
    CHECK(good.state.updates == 2);
    CHECK(again(good).reason == ExitReason::cutoff_reached);
    CHECK(again(good).steps.empty());
    setup.options.validation.cutoff = 1;
    setup.options.limits.max_train_steps = 5;
    const auto further = again(good);
    CHECK(further.reason == ExitReason::steps_done);
    CHECK(further.steps.size() == 3);
    CHECK(further.saves.front().state.ended.empty());
}
