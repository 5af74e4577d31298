// SPDX-License-Identifier: Apache-2.0
// Compares the estimate of a GPU's memory, and of what is pinned, with the memory that a run takes.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>

#include "model/devices/dry_model.hpp"
#include "model/devices/model.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/device/cuda/cuda_devices.hpp"
#include "runtime/device/upload.hpp"
#include "tests/model/batch_parts.hpp"
#include "tests/model/device_run.hpp"
#include "tests/model/golden.hpp"
#include "tests/runtime/train/toy_source.hpp"

using namespace lockstep;
using train::Offload;
using train::OptimizerKind;
using train::WeightMemory;

namespace {

constexpr auto precision = train::Precision::bf16;
// The rest is sums, those of a layer that are deferred, the state of a step and the like.
constexpr std::size_t small_bytes = 32 << 10;

struct Run {
    model::ModelConfig config;
    train::Batch batch;
    int ranks = 1;
    train::TrainOptions options = {};

    train::Master master() const {
        return options.optimizer.offload == Offload::optimizer ? train::Master::offloaded
                                                               : train::Master::kept;
    }
    std::unique_ptr<model::DryModel> dry() const {
        return model::make_dry_model(config, precision, model::DeviceKind::gpu);
    }
};

struct Bytes {
    std::size_t device = 0, pinned = 0;
};

Bytes bytes_now() { return {device::free_gpu_bytes(0), emulated_pinned_bytes()}; }

// Returns the memory that all ranks take together.
Bytes reckoned(const Run& run) {
    const auto dry = run.dry();
    const train::BatchShape shape = tests::shape_of(run.batch);
    const std::size_t uploaded = device::upload_capacity(dry->batch_bytes(shape));
    Bytes all;
    for (int rank = 0; rank < run.ranks; ++rank) {
        const WeightMemory weights = dry->step(run.options, run.master(), {rank, run.ranks}).memory;
        all.device += weights.total() + dry->constant_bytes() + dry->training_bytes(shape) +
                      device::uploads_held * uploaded + dry->scratch_bytes(shape);
        all.pinned += weights.pinned + device::upload_slots * uploaded;
    }
    return all;
}

// Runs a few steps of a rank, enough to use every slot of the upload, and calls then() while all
// memory is in use.
void run_rank(const Run& run, comm::Communicator& ranks,
              const std::function<void(const WeightMemory&)>& then) {
    model::GpuSettings settings;
    settings.master = run.master();
    const int sharing = train::sharing_ranks(run.options.zero, run.ranks);
    settings.share = {run.ranks, sharing, ranks.rank() % sharing, run.options.reducer,
                      run.options.zero.stage};
    const auto model = model::make_cuda_model(run.config, precision, settings);
    Trace trace(Trace::Recording::off, ranks.rank());
    const auto engine = model->make_engine(run.options, ranks, trace, nullptr);
    model->reserve(run.dry()->training_bytes(tests::shape_of(run.batch)));
    model->initialize(1);
    engine->share_weights();
    engine->restore({}, run.options.lanes);
    for (std::uint64_t step = 0; step < 4; ++step) {
        engine->queue({.seed = 1, .step = step, .first_update = 0, .rates = {1e-3f, 1e-3f, 1e-3f}},
                      {run.batch});
        (void)engine->take_result();
    }
    engine->finish_weights();
    then(engine->memory());
}

void check_as_dry(const WeightMemory& dry, const WeightMemory& real) {
    CHECK(real.master == dry.master);
    CHECK(real.compute == dry.compute);
    CHECK(real.gradient == dry.gradient);
    CHECK(real.optimizer == dry.optimizer);
    CHECK(real.narrowing == dry.narrowing);
    CHECK(real.tied_rows == dry.tied_rows);
    CHECK(real.lane_sums == dry.lane_sums);
    CHECK(real.pinned == dry.pinned);
}

// Compares what each rank's engine says and what all of them take with the dry ranks'. Ranks are
// threads, whose emulated devices count together.
void check_memory(const Run& run) {
    const Bytes expected = reckoned(run), before = bytes_now();
    Bytes found;
    comm::run_as_threads(run.ranks, [&](comm::Communicator& ranks) {
        const auto dry = run.dry()->step(run.options, run.master(), {ranks.rank(), run.ranks});
        run_rank(run, ranks, [&](const WeightMemory& real) {
            check_as_dry(dry.memory, real);
            const auto wait = [&] {
                ranks.barrier("measured");
                ranks.finish();
            };
            wait();
            if (ranks.rank() == 0) {
                const Bytes now = bytes_now();
                found = {before.device - now.device, now.pinned - before.pinned};
            }
            wait();
        });
    });
    const std::size_t slack = small_bytes * static_cast<std::size_t>(run.ranks);
    CAPTURE(expected.device);
    CAPTURE(expected.pinned);
    CHECK(found.device >= expected.device);
    CHECK(found.device <= expected.device + slack);
    CHECK(found.pinned >= expected.pinned);
    CHECK(found.pinned <= expected.pinned + slack);
}

}  // namespace

TEST_CASE("a run takes of a GPU's memory what is reckoned, also if its optimizer is offloaded") {
    struct Kept {
        OptimizerKind optimizer;
        Offload offload;
    };
    for (const std::string name : {"aiayn_relu_sinusoidal", "gpt2"})
        for (const Kept& kept : {Kept{OptimizerKind::adam, Offload::none},
                                 Kept{OptimizerKind::adam, Offload::optimizer},
                                 Kept{OptimizerKind::adafactor, Offload::none}}) {
            CAPTURE(name);
            CAPTURE(train::name(kept.offload));
            tests::Golden golden(name);
            Run run{golden.config(),
                    tests::with_following_labels(tests::with_filler(golden.batch(""), 200))};
            run.options.optimizer.kind = kept.optimizer;
            run.options.optimizer.offload = kept.offload;
            check_memory(run);
        }
}

TEST_CASE("ranks that send bf16 and share what they keep take what is reckoned, at every stage") {
    Run run{tests::toy_config(model::Kind::gpt2), tests::ToySource::batch_of({1, 2}), 2};
    // Each part of the memory is larger than what is not reckoned, and the table is summed in
    // parts.
    run.config.vocabulary = 1000;
    run.config.embedding_size = run.config.ffn_size = 128;
    run.config.decoder_layers = 2;
    run.options.lanes = run.ranks;
    run.options.reducer.comm_dtype = Dtype::bf16;
    run.options.reducer.first_bucket_bytes = run.options.reducer.bucket_bytes = 256 << 10;
    for (const int stage : {0, 1, 2, 3})
        for (const Offload offload : {Offload::none, Offload::optimizer}) {
            CAPTURE(stage);
            CAPTURE(train::name(offload));
            run.options.zero.stage = stage;
            run.options.optimizer.offload = offload;
            const WeightMemory weights = run.dry()->step(run.options, run.master(), {0, 2}).memory;
            CHECK(weights.narrowing > 2 * small_bytes);
            CHECK((weights.tied_rows > 2 * small_bytes) == (stage < 2));
            check_memory(run);
        }
}
