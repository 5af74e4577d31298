// SPDX-License-Identifier: Apache-2.0
// A GPU whose optimizer lies in the host's memory trains as one that keeps everything, bit for bit:
// whole runs on the emulated device.
#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/comm/threads/thread_world.hpp"
#include "tests/model/device_run.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using tests::DeviceRun;
using train::Master;
using train::OptimizerKind;
using train::Precision;

namespace {

enum class Place { gpu, host };

struct Setup {
    int world = 1, stage = 0;
    Precision precision = Precision::bf16;
    std::size_t max_graphs = 64;
    comm::GpuBackend backend = comm::GpuBackend::nccl;
    train::TrainOptions options = {};
};

Setup setup_of(int world, int stage, Precision precision) {
    Setup setup;
    setup.world = world;
    setup.stage = stage;
    setup.precision = precision;
    train::TrainOptions& options = setup.options;
    options.lanes = world;
    options.optimizer.kind = OptimizerKind::adamw;
    options.optimizer.learningrate = 0.01;
    options.optimizer.weight_decay = 0.01;
    options.optimizer.gradient_clip = 0.1;
    options.optimizer.offload_bytes = 4096;  // several chunks
    options.schedule.kind = train::ScheduleKind::invsqrt;
    options.schedule.warmup_updates = 3;
    options.limits.max_train_steps = 8;
    options.validation.every_n_steps = 3;
    options.hash_every_n_updates = 2;
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 4096;
    // From stage 2 on a tied table is summed at once.
    if (stage >= 2) options.reducer.overlap = train::Overlap::off;
    return setup;
}

std::vector<DeviceRun> run(Setup setup, Place place, const tests::RunFiles& files = {}) {
    auto config = tests::toy_config(model::Kind::gpt2);
    config.dropout = 0.1f;
    if (place == Place::host) setup.options.optimizer.offload = train::Offload::optimizer;
    std::vector<DeviceRun> runs(static_cast<std::size_t>(setup.world));
    comm::run_as_threads(setup.world, [&](comm::Communicator& ranks) {
        model::GpuSettings settings;
        settings.master = place == Place::host ? Master::offloaded : Master::kept;
        settings.host_threads = 2;
        settings.max_graphs = setup.max_graphs;
        settings.backend = setup.backend;
        const int sharing = setup.stage == 0 ? 1 : setup.world;
        settings.share = {ranks.size(), sharing, ranks.rank() % sharing, setup.options.reducer,
                          std::max(setup.stage, 1)};
        const auto model = model::make_cuda_model(config, setup.precision, settings);
        runs[static_cast<std::size_t>(ranks.rank())] =
            tests::train_on(*model, setup.options, ranks, files);
    });
    return runs;
}

void check_same(const DeviceRun& expected, const DeviceRun& got) {
    REQUIRE(expected.steps.size() == got.steps.size());
    for (std::size_t i = 0; i < got.steps.size(); ++i) {
        CAPTURE(i);
        CHECK(got.steps[i].loss == expected.steps[i].loss);
        CHECK(got.steps[i].gnorm == expected.steps[i].gnorm);
        CHECK(got.steps[i].lr == expected.steps[i].lr);
        CHECK(got.steps[i].outcome == expected.steps[i].outcome);
    }
    CHECK(got.validation_losses == expected.validation_losses);
    REQUIRE(!got.weights.empty());
    CHECK(got.weights == expected.weights);
}

void check_offload(const Setup& setup) {
    const auto kept = run(setup, Place::gpu), offloaded = run(setup, Place::host);
    check_same(kept[0], offloaded[0]);
    for (const DeviceRun& rank : offloaded) CHECK(rank.state.updates == kept[0].state.updates);
}

}  // namespace

TEST_CASE("a run whose optimizer is offloaded has the same losses, norms and weights") {
    for (const auto precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
        CAPTURE(train::name(precision));
        check_offload(setup_of(1, 0, precision));
    }
    for (const auto optimizer : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::lion}) {
        Setup setup = setup_of(1, 0, Precision::bf16);
        setup.options.optimizer.kind = optimizer;
        setup.options.optimizer.momentum = 0.5;
        check_offload(setup);
    }
}

TEST_CASE("ranks offload at every stage of sharing") {
    for (const int stage : {0, 1, 2, 3})
        for (const auto precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
            CAPTURE(stage);
            CAPTURE(train::name(precision));
            check_offload(setup_of(2, stage, precision));
        }
}

TEST_CASE("an offloaded run is the same in other modes") {
    Setup setup = setup_of(2, 0, Precision::fp16);
    SUBCASE("without graphs") { setup.max_graphs = 0; }
    SUBCASE("through the host") { setup.backend = comm::GpuBackend::staged; }
    SUBCASE("several lanes of a rank") { setup.options.lanes = 4; }
    SUBCASE("an overflow is skipped") {
        setup.options.loss_scaling = {kernels::LossScaling::Kind::dynamic, 0x1p28F, 0x1p-5F};
        setup.options.limits.max_train_steps = 6;
        const auto offloaded = run(setup, Place::host);
        CHECK(offloaded[0].steps.front().outcome == train::Outcome::not_finite);
    }
    check_offload(setup);
}

TEST_CASE("a checkpoint continues with offload and without, bit for bit") {
    for (const auto precision : {Precision::fp32, Precision::bf16}) {
        const tests::ScratchFolder folder;
        const Setup whole = setup_of(1, 0, precision);
        Setup first = whole;
        first.options.limits.max_train_steps = 3;
        const DeviceRun uninterrupted = run(whole, Place::gpu)[0];
        for (const auto& [before, after] :
             {std::pair{Place::gpu, Place::host}, std::pair{Place::host, Place::gpu},
              std::pair{Place::host, Place::host}}) {
            const std::string file = folder / "checkpoint";
            (void)run(first, before, {"", file});
            const DeviceRun continued = run(whole, after, {file, ""})[0];
            CHECK(continued.weights == uninterrupted.weights);
            CHECK(continued.steps.back().loss == uninterrupted.steps.back().loss);
        }
    }
}

TEST_CASE("an offloaded engine works on the step that it is given, not ahead of it") {
    const Setup setup = setup_of(1, 0, Precision::bf16);
    comm::run_as_threads(1, [&](comm::Communicator& ranks) {
        Trace trace(Trace::Recording::off, 0);
        for (const auto offload : {train::Offload::none, train::Offload::optimizer}) {
            model::GpuSettings settings;
            auto options = setup.options;
            options.optimizer.offload = offload;
            const bool by_host = offload == train::Offload::optimizer;
            settings.master = by_host ? Master::offloaded : Master::kept;
            const auto model = model::make_cuda_model(tests::toy_config(model::Kind::gpt2),
                                                      setup.precision, settings);
            const auto engine = model->make_engine(options, ranks, trace, nullptr);
            CHECK(engine->steps_ahead() == (by_host ? 0 : 1));
        }
    });
}
