// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "runtime/comm/threads/thread_world.hpp"
#include "tests/model/device_run.hpp"

// Runs of a tiny model whose optimizer lies on the GPU or in the host's memory.
namespace lockstep::tests {

enum class Place { gpu, host };

struct OffloadSetup {
    int world = 1, stage = 0;
    train::Precision precision = train::Precision::bf16;
    std::size_t max_graphs = 64;
    comm::GpuBackend backend = comm::GpuBackend::nccl;
    train::TrainOptions options = {};
};

inline OffloadSetup offload_setup(int world, int stage, train::Precision precision) {
    OffloadSetup setup;
    setup.world = world;
    setup.stage = stage;
    setup.precision = precision;
    train::TrainOptions& options = setup.options;
    options.lanes = world;
    options.optimizer.kind = train::OptimizerKind::adamw;
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

// Returns the runs of all ranks, which have files of their own, or none.
inline std::vector<DeviceRun> run_offloaded(OffloadSetup setup, Place place,
                                            std::vector<RunFiles> files = {}) {
    auto config = toy_config(model::Kind::gpt2);
    config.dropout = 0.1f;
    if (place == Place::host) setup.options.optimizer.offload = train::Offload::optimizer;
    std::vector<DeviceRun> runs(static_cast<std::size_t>(setup.world));
    files.resize(runs.size());
    comm::run_as_threads(setup.world, [&](comm::Communicator& ranks) {
        model::GpuSettings settings;
        settings.master = place == Place::host ? train::Master::offloaded : train::Master::kept;
        settings.host_threads = 2;
        settings.max_graphs = setup.max_graphs;
        settings.backend = setup.backend;
        const int sharing = setup.stage == 0 ? 1 : setup.world;
        settings.share = {ranks.size(), sharing, ranks.rank() % sharing, setup.options.reducer,
                          std::max(setup.stage, 1)};
        const auto model = model::make_cuda_model(config, setup.precision, settings);
        const auto rank = static_cast<std::size_t>(ranks.rank());
        runs[rank] = train_on(*model, setup.options, ranks, files[rank]);
    });
    return runs;
}

inline void check_same_run(const DeviceRun& expected, const DeviceRun& got) {
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

}  // namespace lockstep::tests
