// SPDX-License-Identifier: Apache-2.0
// Compares steps that are replayed as graphs with the same steps queued call by call.
#include <doctest/doctest.h>
#include <nccl.h>

#include <cstring>

#include "runtime/comm/threads/thread_world.hpp"
#include "tests/model/device_run.hpp"

using namespace lockstep;
using model::Kind;
using tests::DeviceRun;
using train::Precision;

namespace {

constexpr int steps = 16;

struct Case {
    Kind kind;
    Precision precision;
    train::OptimizerKind optimizer;
    float attention_dropout;
};

model::ModelConfig config_of(const Case& c) {
    auto config = tests::toy_config(c.kind);
    config.dropout = config.relu_dropout = 0.1f;
    config.attention_dropout = c.attention_dropout;
    return config;
}

train::TrainOptions options_of(const Case& c) {
    train::TrainOptions options;
    options.lanes = 2;
    options.optimizer.kind = c.optimizer;
    options.optimizer.learningrate = 0.01;
    options.schedule.kind = train::ScheduleKind::invsqrt;
    options.schedule.warmup_updates = 5;
    options.limits.max_train_steps = steps;
    options.validation.every_n_steps = 5;
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 4096;
    if (c.precision == Precision::fp16)
        options.loss_scaling = {kernels::LossScaling::Kind::dynamic, 0x1p30F, 0x1p-5F};
    return options;
}

std::vector<DeviceRun> run(int world, const Case& c, std::size_t max_graphs) {
    std::vector<DeviceRun> runs(static_cast<std::size_t>(world));
    comm::run_as_threads(world, [&](comm::Communicator& ranks) {
        model::GpuSettings settings;
        settings.max_graphs = max_graphs;
        const auto model = model::make_cuda_model(config_of(c), c.precision, settings);
        runs[static_cast<std::size_t>(ranks.rank())] =
            tests::train_on(*model, options_of(c), ranks);
    });
    return runs;
}

void check_same_bits(const DeviceRun& a, const DeviceRun& b) {
    REQUIRE(a.steps.size() == b.steps.size());
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
        CHECK(a.steps[i].loss == b.steps[i].loss);
        CHECK(a.steps[i].outcome == b.steps[i].outcome);
        CHECK(a.steps[i].lr == b.steps[i].lr);
    }
    CHECK(a.validation_losses == b.validation_losses);
    REQUIRE(a.weights.size() == b.weights.size());
    CHECK(std::memcmp(a.weights.data(), b.weights.data(), a.weights.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("a run by graphs is the run call by call, bit for bit") {
    using enum train::OptimizerKind;
    for (const Case& c : {Case{Kind::generator, Precision::fp32, adam, 0.1f},
                          Case{Kind::gpt2, Precision::bf16, adafactor, 0.0f},
                          Case{Kind::gpt2, Precision::fp16, sgd, 0.1f}}) {
        CAPTURE(static_cast<int>(c.precision));
        const int before = emulated_graph_launches();
        const DeviceRun by_calls = run(1, c, 0)[0];
        CHECK(emulated_graph_launches() == before);
        const DeviceRun by_graphs = run(1, c, 64)[0];
        CHECK(emulated_graph_launches() > before + 2 * steps);
        check_same_bits(by_calls, by_graphs);
        CHECK(by_graphs.validation_losses.size() >= 3);
        // The case with fp16 must contain skipped steps, so that graphs are tested on them.
        if (c.precision == Precision::fp16) {
            CHECK(by_graphs.steps[2].outcome == train::Outcome::not_finite);
            CHECK(by_graphs.steps.size() > steps + 3);
        }
    }
}

TEST_CASE("two GPUs reduce between the graphs of a micro-batch, and keep the bits as well") {
    const Case c{Kind::gpt2, Precision::fp32, train::OptimizerKind::adam, 0.0f};
    const auto by_calls = run(2, c, 0);
    const int before = emulated_graph_launches();
    const auto by_graphs = run(2, c, 64);
    // Every step launches graphs for its micro-batch, its reduction and its update on both GPUs.
    CHECK(emulated_graph_launches() > before + 2 * 3 * steps);
    for (std::size_t rank : {std::size_t{0}, std::size_t{1}})
        check_same_bits(by_calls[rank], by_graphs[rank]);
    CHECK(emulated_nccl_communicators() == 0);
}
