// SPDX-License-Identifier: Apache-2.0
// The same lanes on 1, 2 and 4 ranks must be the same run.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/runtime/train/toy_model.hpp"
#include "tests/runtime/train/training_run.hpp"

using namespace lockstep;
using tests::RankRun;
using tests::RunSetup;
using train::OptimizerKind;

namespace {

constexpr int steps = 20;

// There are 60 rows over 4 lanes, most of them in lane 0: the other lanes run dry in every epoch.
RunSetup setup_of(OptimizerKind optimizer, int world) {
    RunSetup setup;
    setup.world = world;
    setup.options.lanes = 4;
    setup.options.optimizer.kind = optimizer;
    setup.options.optimizer.learningrate = optimizer == OptimizerKind::sgd ? 0.5 : 0.05;
    setup.options.optimizer.gradient_clip = 0.3;
    setup.options.schedule.kind = train::ScheduleKind::fixed;
    setup.options.limits.max_train_steps = steps;
    setup.options.hash_every_n_updates = 1;
    setup.options.reducer.first_bucket_bytes = 64;
    setup.options.reducer.bucket_bytes = 256;
    return setup;
}

double largest_difference(const std::vector<RankRun>& a, const std::vector<RankRun>& b) {
    REQUIRE(a[0].steps.size() == b[0].steps.size());
    double largest = 0;
    for (std::size_t i = 0; i < a[0].steps.size(); ++i) {
        const double x = a[0].steps[i].loss, y = b[0].steps[i].loss;
        largest = std::max(largest, std::abs(x - y) / std::abs(x));
    }
    return largest;
}

// Returns a row for each time that any rank trained on it.
std::vector<std::uint32_t> coverage(const std::vector<RankRun>& runs) {
    std::vector<std::uint32_t> rows;
    for (const RankRun& run : runs) rows.insert(rows.end(), run.rows.begin(), run.rows.end());
    std::sort(rows.begin(), rows.end());
    return rows;
}

// The mistake that Lockstep's design avoids: every rank divides its gradient by its own tokens, and
// the means of the ranks are averaged. The factor about_all_tokens cancels, approximately, the
// trainer's division.
class MeanOfMeans final : public tests::ModelWrapper {
public:
    MeanOfMeans(train::ForwardBackward& toy, tests::RankHandle handle, int world)
        : ModelWrapper(toy), handle_(handle), world_(world) {}

    void train(const kernels::StepState* state, kernels::LossSums* sums, kernels::Into into,
               train::GradientSink& sink) override {
        train::NoSink more_follow;
        kernels::LossSums of_batch;
        ModelWrapper::train(state, &of_batch, into, more_follow);
        *sums += of_batch;
        tokens_ += of_batch.tokens;
        if (dynamic_cast<train::NoSink*>(&sink) != nullptr) return;
        constexpr double about_all_tokens = 90;
        for (float& g : handle_.store.gradient())
            g = static_cast<float>(static_cast<double>(g) * about_all_tokens / (world_ * tokens_));
        tokens_ = 0;
        sink.ready(0, handle_.store.gradient().size());
    }

private:
    tests::RankHandle handle_;
    int world_;
    double tokens_ = 0;
};

RunSetup with_mean_of_means(RunSetup setup) {
    setup.wrap = [world = setup.world](train::ForwardBackward& toy, tests::RankHandle handle) {
        return std::make_unique<MeanOfMeans>(toy, handle, world);
    };
    return setup;
}

}  // namespace

TEST_CASE("1 rank with 4 lanes, 2 with 2 and 4 with 1 give the same losses and rows") {
    for (const auto& [optimizer, tolerance] :
         {std::pair{OptimizerKind::sgd, 1e-5}, std::pair{OptimizerKind::adam, 1e-4}}) {
        const auto alone = run_training(setup_of(optimizer, 1));
        const auto& reports = alone[0].steps;
        REQUIRE(reports.size() == steps);
        CHECK(reports.back().loss < 0.9 * reports.front().loss);
        // These conditions make the comparison meaningful.
        const auto count = [&](auto what) {
            return std::count_if(reports.begin(), reports.end(), what);
        };
        CHECK(count([](const auto& report) { return report.clipped > 0; }) > steps / 2);
        CHECK(count([](const auto& report) { return report.lanes < 4; }) > 0);

        for (const int world : {2, 4}) {
            CAPTURE(world);
            const auto together = run_training(setup_of(optimizer, world));
            CHECK(largest_difference(alone, together) < tolerance);
            CHECK(coverage(alone) == coverage(together));
            for (const RankRun& run : together) CHECK(run.weights == together[0].weights);
        }
    }
}

TEST_CASE("averaging the ranks' means would not pass for equal") {
    for (const auto& [optimizer, tolerance] :
         {std::pair{OptimizerKind::sgd, 1e-5}, std::pair{OptimizerKind::adam, 1e-4}}) {
        const auto alone = run_training(with_mean_of_means(setup_of(optimizer, 1)));
        for (const int world : {2, 4}) {
            const auto together = run_training(with_mean_of_means(setup_of(optimizer, world)));
            CHECK(largest_difference(alone, together) > 10 * tolerance);
        }
    }
}

TEST_CASE("an epoch gives every row once") {
    for (const int world : {1, 3}) {
        auto setup = setup_of(OptimizerKind::sgd, world);
        setup.options.limits = {};
        setup.options.limits.num_epochs = 2;
        const auto runs = run_training(setup);
        CHECK(runs[0].reason == train::ExitReason::epochs_done);
        CHECK(runs[0].epochs == std::vector<std::int64_t>{1, 2});
        CHECK(runs[0].state.rows == 2 * setup.rows);
        std::vector<std::uint32_t> expected;
        for (std::uint32_t row = 0; row < setup.rows; ++row)
            expected.insert(expected.end(), 2, row);
        CHECK(coverage(runs) == expected);
    }
}

TEST_CASE("gradients that travel as bf16 stay near") {
    auto setup = setup_of(OptimizerKind::sgd, 2);
    const auto exact = run_training(setup);
    setup.options.reducer.comm_dtype = Dtype::bf16;
    const auto rounded = run_training(setup);
    const double difference = largest_difference(exact, rounded);
    CHECK(difference > 0);
    CHECK(difference < 0.01);
}
