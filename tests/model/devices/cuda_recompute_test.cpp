// SPDX-License-Identifier: Apache-2.0
// Compares runs whose backward calculates values again with runs that keep them, on the CPU and on
// GPUs, with several ranks and several micro-batches of a step.
#include <doctest/doctest.h>
#include <nccl.h>

#include <cstring>
#include <functional>

#include "runtime/comm/threads/thread_world.hpp"
#include "tests/model/device_run.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"

using namespace lockstep;
using model::Kind;
using model::Recompute;
using model::RecomputePlan;
using tests::DeviceRun;
using train::Precision;

namespace {

const std::vector<RecomputePlan> plans{{Recompute::ffn}, {Recompute::layer}, {Recompute::layer, 2}};

model::ModelConfig config_of(Kind kind) {
    auto config = tests::toy_config(kind);
    config.encoder_layers = config.decoder_layers = 3;
    config.dropout = config.relu_dropout = config.attention_dropout = 0.1f;
    return config;
}

train::TrainOptions options_of() {
    train::TrainOptions options;
    options.lanes = 3;  // ranks have unequal numbers of micro-batches
    options.optimizer.learningrate = 0.01;
    options.optimizer.gradient_clip = 0.5;
    options.limits.max_train_steps = 4;
    options.validation.every_n_steps = 2;
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 4096;
    return options;
}

using MakeModel = std::function<std::unique_ptr<model::Model>(const RecomputePlan&)>;

std::vector<DeviceRun> run(int world, const MakeModel& make, const RecomputePlan& plan) {
    std::vector<DeviceRun> runs(static_cast<std::size_t>(world));
    comm::run_as_threads(world, [&](comm::Communicator& ranks) {
        runs[static_cast<std::size_t>(ranks.rank())] =
            tests::train_on(*make(plan), options_of(), ranks);
    });
    return runs;
}

void check_same_bits(const DeviceRun& a, const DeviceRun& b) {
    REQUIRE(a.steps.size() == b.steps.size());
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
        CHECK(a.steps[i].loss == b.steps[i].loss);
        CHECK(a.steps[i].gnorm == b.steps[i].gnorm);
    }
    CHECK(a.validation_losses == b.validation_losses);
    REQUIRE(a.weights.size() == b.weights.size());
    CHECK(std::memcmp(a.weights.data(), b.weights.data(), a.weights.size() * sizeof(float)) == 0);
}

void check_plans(int world, const MakeModel& make) {
    CAPTURE(world);
    const auto kept = run(world, make, {});
    CHECK(kept[0].steps.back().loss < kept[0].steps.front().loss);
    for (const RecomputePlan& plan : plans) {
        CAPTURE(model::name(plan));
        const auto again = run(world, make, plan);
        for (std::size_t rank = 0; rank < again.size(); ++rank)
            check_same_bits(kept[rank], again[rank]);
    }
}

model::GpuSettings settings_of(const RecomputePlan& plan, std::size_t max_graphs) {
    model::GpuSettings settings;
    settings.max_graphs = max_graphs;
    settings.recompute = plan;
    return settings;
}

}  // namespace

TEST_CASE("ranks on the CPU train the same weights, whatever is calculated again") {
    for (const Kind kind : {Kind::gpt2, Kind::generator})
        for (const Precision precision : {Precision::fp32, Precision::bf16})
            for (const int world : {1, 2, 4}) {
                CAPTURE(static_cast<int>(kind));
                CAPTURE(train::name(precision));
                check_plans(world, [&](const RecomputePlan& plan) {
                    return model::make_cpu_model(config_of(kind), precision, 1, plan);
                });
            }
}

TEST_CASE("GPUs train the same weights, whatever is calculated again, with graphs and without") {
    struct Case {
        Kind kind;
        Precision precision;
        int world;
        std::size_t max_graphs;
    };
    for (const Case& c :
         {Case{Kind::gpt2, Precision::fp32, 2, 64}, Case{Kind::generator, Precision::bf16, 1, 64},
          Case{Kind::gpt2, Precision::bf16, 1, 0}}) {
        CAPTURE(static_cast<int>(c.kind));
        CAPTURE(train::name(c.precision));
        check_plans(c.world, [&](const RecomputePlan& plan) {
            return model::make_cuda_model(config_of(c.kind), c.precision,
                                          settings_of(plan, c.max_graphs));
        });
    }
}

// Products that leave room for collectives may have other last bits than those of forward.
TEST_CASE("products of forward are planned for the whole GPU also when backward repeats them") {
    const auto products_of = [](const RecomputePlan& plan, comm::Communicator& ranks) {
        auto config = config_of(Kind::gpt2);
        const auto model = model::make_cuda_model(config, Precision::fp32, settings_of(plan, 64));
        Trace trace(Trace::Recording::off, ranks.rank());
        const auto engine = model->make_engine(options_of(), ranks, trace, nullptr);
        engine->share_weights();
        engine->restore({}, 1);
        const auto given = tests::cuda_emulation::given_by([&] {
            engine->queue({.seed = 1}, {tests::ToySource::batch_of({1, 2})});
        });
        (void)engine->take_result();
        return std::pair{given.launches("product on a part"), given.launches("product")};
    };
    comm::run_as_threads(2, [&](comm::Communicator& ranks) {
        const auto kept = products_of({}, ranks), ffn = products_of({Recompute::ffn}, ranks),
                   layer = products_of({Recompute::layer}, ranks);
        CHECK(kept.first > 0);
        CHECK(ffn.first == kept.first);
        CHECK(layer.first == kept.first);
        CHECK(ffn.second == kept.second + 3);        // one product of each layer
        CHECK(layer.second == kept.second + 3 * 3);  // all but the feed-forward block's second
    });
}
