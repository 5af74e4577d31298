// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loop/trainer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/runtime/train/loop/trainer_runs.hpp"
#include "tests/runtime/train/training_run.hpp"

using namespace lockstep;
using namespace lockstep::tests::trainer_runs;
using tests::RankRun;
using tests::RunSetup;
using tests::Snapshot;
using train::ExitReason;
using train::Outcome;

namespace {

// Makes the gradient of some steps infinite, on rank 1 alone.
class Spoiler final : public tests::ModelWrapper {
public:
    using Steps = std::function<bool(std::uint64_t)>;

    Spoiler(train::ForwardBackward& toy, tests::RankHandle handle, Steps spoiled)
        : ModelWrapper(toy), handle_(handle), spoiled_(std::move(spoiled)) {}

    void train(const kernels::StepState* state, kernels::LossSums* sums, kernels::Into into,
               train::GradientSink& sink) override {
        if (handle_.rank != 1 || !spoiled_(state->step))
            return ModelWrapper::train(state, sums, into, sink);
        train::NoSink not_yet;
        ModelWrapper::train(state, sums, into, not_yet);
        const auto gradient = handle_.store.gradient();
        gradient[parameters().find("bias.2")->offset] = std::numeric_limits<float>::infinity();
        sink.ready(0, gradient.size());
    }

private:
    tests::RankHandle handle_;
    Steps spoiled_;
};

RunSetup spoiled(RunSetup setup, Spoiler::Steps steps) {
    setup.wrap = [steps](train::ForwardBackward& toy, tests::RankHandle handle) {
        return std::make_unique<Spoiler>(toy, handle, steps);
    };
    return setup;
}
}  // namespace

TEST_CASE("steps leave a copy for a save alone, and the end waits for the saves") {
    auto setup = two_ranks();
    setup.options.save_every_n_steps = 1;
    for (const RankRun& run : run_training(setup)) {
        CHECK(run.saves.size() == 12);
        CHECK(run.changed_copies == 0);
        CHECK(run.saves.back().weights == run.weights);
        CHECK(run.finishes == 1);
    }
}

TEST_CASE("an error of a save that goes on ends the run before the next step") {
    auto setup = two_ranks();
    setup.world = 1;
    std::size_t steps = 0;
    setup.check_saves = [&](const RankRun& so_far) {
        steps = so_far.steps.size();
        if (steps == 3) throw Error(ErrorKind::io, "the save has failed");
    };
    CHECK_THROWS_WITH_AS(run_training(setup), "the save has failed", Error);
    CHECK(steps == 3);
}

TEST_CASE("a gradient that is not finite skips the update truly, on every rank") {
    auto setup = spoiled(two_ranks(), [](std::uint64_t step) { return step == 5; });
    setup.options.save_every_n_steps = 1;
    for (const RankRun& run : run_training(setup)) {
        REQUIRE(run.steps.size() == 13);  // 12 updates and the skipped step
        const auto& skipped = run.steps[5];
        CHECK(skipped.outcome == Outcome::not_finite);
        CHECK(skipped.step == 6);
        CHECK(skipped.updates == 5);
        CHECK(run.steps[6].outcome == Outcome::updated);
        CHECK(run.steps[6].updates == 6);
        CHECK(run.steps[6].lr == skipped.lr);  // the schedule did not advance
        CHECK(run.state.nonfinite_in_a_row == 0);
    }
    // This run ends right after the skipped step; only the step counter may have changed.
    setup.on_step = [](const train::StepReport& report, tests::RankHandle handle) {
        if (report.step == 5) handle.stop = true;  // the ranks agree on it in the next step
    };
    const auto stopped = run_training(setup)[0];
    REQUIRE(stopped.saves.size() >= 2);
    const Snapshot& after = stopped.saves.back();
    const Snapshot& before = stopped.saves[stopped.saves.size() - 2];
    CHECK(after.state.step == before.state.step + 1);
    CHECK(after.state.updates == before.state.updates);
    CHECK(after.weights == before.weights);
    CHECK(after.optimizer == before.optimizer);
}

TEST_CASE("gradients that are never finite end the run and name the parameter") {
    auto setup = spoiled(two_ranks(), [](std::uint64_t step) { return step >= 3; });
    setup.rows = 600;  // rank 1 always has rows
    CHECK_THROWS_WITH_AS(run_training(setup),
                         doctest::Contains("10 steps in a row, the last one step 13 (first in the "
                                           "gradient of bias.2)"),
                         Error);
}

TEST_CASE("weights that have diverged in the last step are not saved, and end the run") {
    auto setup = two_ranks();
    setup.options.save_every_n_steps = 5;
    std::int64_t saved = 0;
    setup.check_saves = [&saved](const RankRun& so_far) {
        if (!so_far.saves.empty()) saved = so_far.saves.back().state.step;
    };
    setup.world = 1;
    setup.weights_are_sound = [] { return false; };
    CHECK_THROWS_WITH_AS(run_training(setup),
                         doctest::Contains("the loss is not finite with the weights of step 12, "
                                           "the last one, which are not saved"),
                         Error);
    CHECK(saved == 10);
    int asked = 0;
    setup.weights_are_sound = [&asked] { return ++asked > 0; };
    CHECK(last_latest(run_training(setup)[0]).state.step == 12);
    CHECK(asked == 1);
    // A run that is asked to stop goes on later, and its next step tells.
    setup.on_step = [](const train::StepReport& report, tests::RankHandle handle) {
        if (report.step == 5) handle.stop = true;
    };
    CHECK(run_training(setup)[0].reason == ExitReason::stop_requested);
    CHECK(asked == 1);
}

TEST_CASE("the parameter is that of the step named, also where a later step was queued before") {
    auto setup = spoiled(two_ranks(), [](std::uint64_t step) { return step >= 3 && step < 13; });
    setup.rows = 600;
    setup.results = RunSetup::Results::a_step_late;
    CHECK_THROWS_WITH_AS(run_training(setup),
                         doctest::Contains("10 steps in a row, the last one step 13 (first in the "
                                           "gradient of bias.2)"),
                         Error);
}

TEST_CASE("results that come a step late change no weight") {
    auto setup = spoiled(two_ranks(), [](std::uint64_t step) { return step == 4; });
    const auto at_once = run_training(setup);
    setup.results = RunSetup::Results::a_step_late;
    CHECK(run_training(setup)[0].weights == at_once[0].weights);
}

TEST_CASE("under dynamic scaling an overflow halves the scale, which the checkpoint keeps") {
    auto setup = spoiled(two_ranks(), [](std::uint64_t step) { return step == 5; });
    setup.options.loss_scaling = {kernels::LossScaling::Kind::dynamic, 0x1p15F, 0x1p-5F};
    setup.options.loss_scaling.window = 4;
    setup.options.optimizer.gradient_clip = 0;
    const auto run = run_training(setup)[0];
    REQUIRE(run.steps.size() == 13);
    CHECK(run.steps[5].outcome == Outcome::not_finite);
    CHECK(run.steps[5].updates == 5);
    std::vector<double> exponents;
    for (const auto& report : run.steps) exponents.push_back(std::log2(report.loss_scale.value()));
    CHECK(exponents == std::vector<double>{15, 15, 15, 16, 16, 15, 15, 15, 15, 16, 16, 16, 16});
    CHECK(last_latest(run).state.loss_scale->value == 0x1p16F);

    // The scale is a power of two: without the overflow the run equals the unscaled one, bit for
    // bit.
    auto scaled = two_ranks();
    scaled.options.loss_scaling = setup.options.loss_scaling;
    CHECK(run_training(scaled)[0].weights == run_training(two_ranks())[0].weights);

    auto resumed = setup;
    resumed.options.limits.max_train_steps = 13;
    resumed.resume = last_latest(run);
    CHECK(run_training(resumed)[0].steps.front().loss_scale.value() == 0x1p17);
}

TEST_CASE("an overflow at the smallest loss scale ends the run") {
    auto setup = spoiled(two_ranks(), [](std::uint64_t step) { return step >= 2; });
    setup.rows = 600;
    setup.options.loss_scaling = {kernels::LossScaling::Kind::dynamic, 0x1p2F, 0x1p-1F};
    CHECK_THROWS_WITH_AS(run_training(setup),
                         doctest::Contains("even with a loss scale of 1.000000, the last one step "
                                           "5 (first in the gradient of bias.2)"),
                         Error);
}

TEST_CASE("a stop asked of one rank ends all at the same step, saved") {
    auto setup = two_ranks();
    setup.options.limits.max_train_steps = 1000;
    setup.on_step = [](const train::StepReport& report, tests::RankHandle handle) {
        if (report.step == 7 && handle.rank == 1) handle.stop = true;
    };
    for (const RankRun& run : run_training(setup)) {
        CHECK(run.reason == ExitReason::stop_requested);
        CHECK(run.state.step == 8);
        REQUIRE(run.saves.size() == 1);
        CHECK(run.saves[0].state.step == 8);
        CHECK(run.saves[0].weights == run.weights);
    }
}

TEST_CASE("a stop in the last validation keeps the reason for the end, and saves") {
    auto setup = two_ranks();
    setup.options.validation.every_n_steps = 5;
    setup.abandons = [](std::size_t n) { return n == 2; };
    const auto run = run_training(setup)[0];
    CHECK(run.reason == ExitReason::steps_done);
    CHECK(run.validations.size() == 2);
    CHECK(run.saves.back().state.updates == 12);
}

TEST_CASE("weights that come to differ stop the run and name the rank") {
    auto setup = two_ranks();
    setup.world = 3;
    setup.options.hash_every_n_updates = 4;
    setup.on_step = [](const train::StepReport& report, tests::RankHandle handle) {
        if (report.step == 5 && handle.rank == 2) handle.store.master()[3] += 1e-3F;
    };
    CHECK_THROWS_WITH_AS(run_training(setup),
                         doctest::Contains("after update 8 the weights of rank 2 differ"), Error);
    setup.options.hash_every_n_updates = 0;
    CHECK_NOTHROW(run_training(setup));
}

TEST_CASE("validations come when due; the best is kept, patience ends the run") {
    auto setup = two_ranks();
    setup.options.limits.max_train_steps = 100;
    setup.options.validation.every_n_steps = 2;
    setup.options.validation.patience = 2;
    setup.options.validation.metric = "loss";
    setup.validation_loss = [](std::size_t n) {
        return std::vector{3.0, 2.0, 2.5, 2.0, 1.0}.at(n);
    };
    const auto run = run_training(setup)[0];
    CHECK(run.reason == ExitReason::patience_over);
    std::vector<std::int64_t> at, best, latest;
    for (const auto& report : run.validations) at.push_back(report.updates);
    for (const auto& save : run.saves)
        (save.kind == train::CheckpointKind::best ? best : latest).push_back(save.state.updates);
    CHECK(at == std::vector<std::int64_t>{2, 4, 6, 8});
    CHECK(best == std::vector<std::int64_t>{2, 4});
    CHECK(latest == std::vector<std::int64_t>{2, 4, 6, 8});
    CHECK(run.state.validation.best == 2.0);
}

TEST_CASE("the last weights are validated too") {
    auto setup = two_ranks();
    setup.options.validation.every_n_steps = 5;
    const auto run = run_training(setup)[0];
    CHECK(run.reason == ExitReason::steps_done);
    std::vector<std::int64_t> at;
    for (const auto& report : run.validations) at.push_back(report.updates);
    CHECK(at == std::vector<std::int64_t>{5, 10, 12});
    CHECK(run.state.validation.last_updates == 10);
}

TEST_CASE("no time is over at once, without an update lost") {
    auto setup = two_ranks();
    setup.options.limits.max_train_time_s = 1e-9;
    const auto run = run_training(setup)[0];
    CHECK(run.reason == ExitReason::time_over);
    CHECK(run.state.updates == 1);
    CHECK(last_latest(run).weights == run.weights);
}

TEST_CASE("a report adds up") {
    auto setup = two_ranks();
    const auto runs = run_training(setup);
    const auto& first = runs[0].steps.front();
    CHECK(first.step == 1);
    CHECK(first.rows == 9);
    CHECK(first.lanes == 3);
    CHECK(first.ppl == doctest::Approx(std::exp(first.loss)));
    CHECK(first.lr == doctest::Approx(0.05 * 1e-4));
    CHECK(first.forward_s == 0.25);
    CHECK(first.gnorm > 0);
    CHECK(first.hidden_share.has_value());
    CHECK(first.peak_memory_bytes > 1'000'000);
    CHECK(runs[1].steps.front().loss == first.loss);
    double tokens = 0;
    for (const auto& report : runs[0].steps) tokens += report.tokens;
    CHECK(static_cast<double>(runs[0].state.tokens) == tokens);
}
