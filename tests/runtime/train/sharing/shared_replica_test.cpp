// SPDX-License-Identifier: Apache-2.0
// Ranks that share the optimizer's state must train as ranks that each keep all of it, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "runtime/device/cpu_context.hpp"
#include "runtime/device/device_timestamp.hpp"
#include "tests/runtime/train/toy_model.hpp"
#include "tests/runtime/train/training_run.hpp"

using namespace lockstep;
using tests::RankRun;
using tests::RunSetup;
using train::OptimizerKind;

namespace {

constexpr int step_count = 20;

// Lane 0 has most of the rows, so the others run dry in every epoch.
RunSetup setup_of(int world, OptimizerKind optimizer, train::Precision precision) {
    RunSetup setup;
    setup.world = world;
    setup.precision = precision;
    setup.options.lanes = world;
    setup.options.optimizer.kind = optimizer;
    setup.options.optimizer.learningrate = optimizer == OptimizerKind::sgd    ? 0.5
                                           : optimizer == OptimizerKind::lion ? 0.01
                                                                              : 0.05;
    setup.options.optimizer.momentum = optimizer == OptimizerKind::sgd ? 0.9 : 0;
    setup.options.optimizer.weight_decay = 0.01;
    setup.options.optimizer.gradient_clip = 0.3;
    setup.options.schedule.kind = train::ScheduleKind::fixed;
    setup.options.limits.max_train_steps = step_count;
    setup.options.validation.every_n_steps = 7;
    setup.options.hash_every_n_updates = 1;
    setup.options.reducer.first_bucket_bytes = 64;
    setup.options.reducer.bucket_bytes = 256;
    return setup;
}

RunSetup shared(RunSetup setup, int sharing, int stage) {
    setup.sharing = sharing;
    setup.stage = stage;
    return setup;
}

void check_same(const std::vector<RankRun>& expected, const std::vector<RankRun>& runs) {
    REQUIRE(runs[0].steps.size() == expected[0].steps.size());
    for (std::size_t i = 0; i < runs[0].steps.size(); ++i) {
        CAPTURE(i);
        CHECK(runs[0].steps[i].loss == expected[0].steps[i].loss);
        CHECK(runs[0].steps[i].gnorm == expected[0].steps[i].gnorm);
    }
    REQUIRE(runs[0].validations.size() == expected[0].validations.size());
    for (std::size_t i = 0; i < runs[0].validations.size(); ++i)
        CHECK(runs[0].validations[i].metrics == expected[0].validations[i].metrics);
    for (const RankRun& run : runs) CHECK(run.weights == expected[0].weights);
    REQUIRE(runs[0].saves.size() == expected[0].saves.size());
    const auto &save = runs[0].saves.back(), &other = expected[0].saves.back();
    CHECK(save.weights == other.weights);
    CHECK(save.optimizer == other.optimizer);
    CHECK(save.codes == other.codes);
}

constexpr auto fp32 = train::Precision::fp32;
constexpr auto narrow = train::Precision::bf16;

}  // namespace

TEST_CASE("ranks that share a replica train as those that do not, bit for bit") {
    for (const auto precision : {fp32, narrow})
        for (const auto optimizer : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw,
                                     OptimizerKind::lion, OptimizerKind::muon})
            for (const int world : {2, 3, 4, 7}) {
                CAPTURE(world);
                CAPTURE(static_cast<int>(optimizer));
                const RunSetup setup = setup_of(world, optimizer, precision);
                const auto expected = run_training(setup);
                const auto& reports = expected[0].steps;
                REQUIRE(reports.size() == step_count);
                // These conditions make the comparison meaningful.
                const auto count = [&](auto what) {
                    return std::count_if(reports.begin(), reports.end(), what);
                };
                CHECK(count([](const auto& report) { return report.clipped > 0; }) >
                      step_count / 2);
                CHECK(count([&](const auto& report) { return report.lanes < world; }) > 0);
                for (int stage = 1; stage <= train::highest_zero_stage(optimizer); ++stage) {
                    CAPTURE(stage);
                    check_same(expected, run_training(shared(setup, world, stage)));
                }
            }
}

TEST_CASE("replicas that ranks share train as whole ones") {
    for (const auto precision : {fp32, narrow})
        for (const int world : {4, 6}) {
            CAPTURE(world);
            const RunSetup setup = setup_of(world, OptimizerKind::adam, precision);
            const auto all = run_training(shared(setup, world, 1));
            const auto first = run_training(shared(setup, 2, 1));
            // The ranks are added in another order.
            for (std::size_t i = 0; i < step_count; ++i)
                CHECK(first[0].steps[i].loss ==
                      doctest::Approx(all[0].steps[i].loss).epsilon(1e-4));
            for (const RankRun& run : first) CHECK(run.weights == first[0].weights);
            for (const int stage : {2, 3}) {
                CAPTURE(stage);
                check_same(first, run_training(shared(setup, 2, stage)));
            }
        }
}

TEST_CASE("shared replicas work with every other way to send and add gradients") {
    RunSetup setup = setup_of(3, OptimizerKind::adam, narrow);
    std::vector<int> stages{1, 2, 3};
    SUBCASE("several lanes of a rank") {
        setup.options.lanes = 6;
        stages = {1};
    }
    SUBCASE("without overlap") { setup.options.reducer.overlap = train::Overlap::off; }
    SUBCASE("gradients that travel as bf16") { setup.options.reducer.comm_dtype = Dtype::bf16; }
    SUBCASE("a fixed order of the lanes") {
        setup.options.reducer.lane_order = train::LaneOrder::fixed;
        stages = {1};
    }
    SUBCASE("results a step late") { setup.results = RunSetup::Results::a_step_late; }
    SUBCASE("moments in int8") { setup.options.optimizer.moments = train::Moments::int8; }
    SUBCASE("large buckets") { setup.options.reducer.first_bucket_bytes = 1 << 20; }
    SUBCASE("AMSGrad") { setup.options.optimizer.amsgrad = true; }
    const auto expected = run_training(setup);
    for (const int stage : stages) {
        CAPTURE(stage);
        check_same(expected, run_training(shared(setup, 3, stage)));
    }
}

// Stages 2 and 3 add the ranks first and then the lanes.
TEST_CASE("several lanes of a rank train alike at all stages, but for rounding") {
    for (const auto precision : {fp32, narrow})
        for (const std::int64_t lanes : {5, 9}) {
            CAPTURE(lanes);
            RunSetup setup = setup_of(3, OptimizerKind::adam, precision);
            setup.options.lanes = lanes;
            const auto expected = run_training(setup);
            const auto second = run_training(shared(setup, 3, 2));
            const double tolerance = precision == fp32 ? 1e-5 : 1e-3;
            for (std::size_t i = 0; i < step_count; ++i)
                CHECK(second[0].steps[i].loss ==
                      doctest::Approx(expected[0].steps[i].loss).epsilon(tolerance));
            for (const RankRun& run : second) CHECK(run.weights == second[0].weights);
            check_same(second, run_training(shared(setup, 3, 3)));
        }
}

TEST_CASE("a checkpoint continues on any ranks, whoever owns what") {
    struct Layout {
        int world, sharing, stage = 1;
    };
    for (const auto moments : {train::Moments::fp32, train::Moments::int8})
        for (const auto precision : {fp32, narrow})
            for (const auto& [saved_on, continued_on] : {std::pair{Layout{2, 1}, Layout{2, 2}},
                                                         {Layout{2, 2}, Layout{2, 1}},
                                                         {Layout{2, 2}, Layout{4, 4}},
                                                         {Layout{4, 2}, Layout{4, 4}},
                                                         {Layout{2, 1}, Layout{2, 2, 3}},
                                                         {Layout{2, 2, 3}, Layout{2, 2, 2}},
                                                         {Layout{4, 4, 2}, Layout{3, 3, 3}},
                                                         {Layout{4, 4}, Layout{1, 1}},
                                                         {Layout{1, 1}, Layout{3, 3}}}) {
                CAPTURE(std::string(train::name(moments)));
                CAPTURE(std::string(train::name(precision)));
                CAPTURE(saved_on.world);
                CAPTURE(saved_on.sharing);
                CAPTURE(continued_on.world);
                RunSetup setup = setup_of(saved_on.world, OptimizerKind::adam, precision);
                setup.options.optimizer.moments = moments;
                setup.options.lanes = 4;
                setup.sharing = saved_on.sharing;
                setup.stage = saved_on.stage;
                const auto whole = run_training(setup);
                setup.options.limits.max_train_steps = step_count / 2;
                const auto half = run_training(setup);
                setup.options.limits.max_train_steps = step_count;
                setup.resume = half[0].saves.back();
                setup.world = continued_on.world;
                setup.sharing = continued_on.sharing;
                setup.stage = continued_on.stage;
                const auto rest = run_training(setup);
                REQUIRE(rest[0].steps.size() == step_count / 2);
                const double tolerance = precision == fp32 ? 1e-4 : 5e-2;
                for (std::size_t i = 0; i < step_count / 2; ++i)
                    CHECK(rest[0].steps[i].loss ==
                          doctest::Approx(whole[0].steps[step_count / 2 + i].loss)
                              .epsilon(tolerance));
                if (saved_on.world == 2 && continued_on.world == 2 &&
                    (saved_on.stage < 2) == (continued_on.stage < 2))
                    CHECK(rest[0].saves.back().weights == whole[0].saves.back().weights);
            }
}

TEST_CASE("what ranks share is saved as it is when a run begins anew from it") {
    for (const auto precision : {fp32, narrow})
        for (const int stage : {1, 2, 3}) {
            RunSetup setup = setup_of(3, OptimizerKind::adam, precision);
            setup.sharing = 3;
            setup.stage = stage;
            const auto run = run_training(setup);
            const tests::Snapshot& saved = run[0].saves.back();
            setup.resume = saved;
            const auto again = run_training(setup);  // it has no steps left
            CHECK(again[0].steps.empty());
            CHECK(again[0].saves.back().weights == saved.weights);
            CHECK(again[0].saves.back().optimizer == saved.optimizer);
        }
}

TEST_CASE("a gradient that is not finite is named by all, whoever owns it") {
    class Bad final : public tests::ModelWrapper {
    public:
        Bad(train::ForwardBackward& toy, tests::RankHandle handle)
            : ModelWrapper(toy), handle_(handle) {}
        void train(const kernels::StepState* state, kernels::LossSums* sums, kernels::Into into,
                   train::GradientSink& sink) override {
            sink.need(0);  // all weights
            train::NoSink more_follow;
            ModelWrapper::train(state, sums, into, more_follow);
            const train::Parameter& bad = parameters()[2];
            handle_.store.gradient()[bad.offset + bad.count - 1] = 1e30F * 1e30F;
            sink.ready(0, handle_.store.gradient().size());
        }

    private:
        tests::RankHandle handle_;
    };
    for (const int sharing : {1, 2}) {
        RunSetup setup = setup_of(2, OptimizerKind::adam, fp32);
        setup.sharing = sharing;
        setup.wrap = [](train::ForwardBackward& toy, tests::RankHandle handle) {
            return std::make_unique<Bad>(toy, handle);
        };
        try {
            (void)run_training(setup);
            FAIL("the run has not ended");
        } catch (const Error& error) {
            CHECK(std::string(error.what()).find("first in the gradient of bias.2") !=
                  std::string::npos);
        }
    }
}

// Measures a micro-batch as one piece of forward.
class MeasuredModel final : public tests::ModelWrapper {
public:
    using ModelWrapper::ModelWrapper;
    void train(const kernels::StepState* state, kernels::LossSums* sums, kernels::Into into,
               train::GradientSink& sink) override {
        device::Stopwatch<device::CpuContext> watch(context_);
        ModelWrapper::train(state, sums, into, sink);
        spans_.forward.push_back(watch.lap());
    }
    train::ModelSpans take_spans() override { return std::exchange(spans_, {}); }

private:
    device::CpuContext context_{1};
    train::ModelSpans spans_;
};

TEST_CASE("a wait for weights or for a slot's gradients is counted once, and not as the model's") {
    for (const int stage : {1, 2, 3}) {
        CAPTURE(stage);
        RunSetup setup = shared(setup_of(2, OptimizerKind::adam, fp32), 2, stage);
        setup.options.limits.max_train_steps = 4;
        setup.slowness = tests::Slowness{std::chrono::milliseconds(2)};
        setup.wrap = [](train::ForwardBackward& toy, const tests::RankHandle&) {
            return std::make_unique<MeasuredModel>(toy);
        };
        const auto runs = run_training(setup);
        for (const train::StepReport& step : runs[0].steps) {
            CHECK(step.communication_s > 0.005);
            CHECK(step.data_s + step.forward_s + step.backward_s + step.optimizer_s +
                      step.communication_s <=
                  step.seconds + 1e-3);
        }
    }
}

TEST_CASE("a step tells the time of each group that something was sent to, and of no other") {
    using Groups = std::vector<bool>;  // weights, gradients, replicas
    const auto with_time = [](int sharing, int stage) {
        const RunSetup setup = shared(setup_of(4, OptimizerKind::adam, narrow), sharing, stage);
        const auto runs = tests::run_training(setup);
        Groups some(3);
        for (const train::StepReport& step : runs[0].steps) {
            CHECK(step.gradients_blocked_s <= step.gradients_s * (1 + 1e-9));
            CHECK(step.replicas_blocked_s <= step.replicas_s * (1 + 1e-9));
            if (step.weights_s > 0) some[0] = true;
            if (step.gradients_s > 0) some[1] = true;
            if (step.replicas_s > 0) some[2] = true;
        }
        return some;
    };
    CHECK(with_time(1, 0) == Groups{false, false, true});
    for (const int stage : {1, 2, 3}) {
        CHECK(with_time(4, stage) == Groups{true, true, false});
        CHECK(with_time(2, stage) == Groups{true, true, true});
    }
}
