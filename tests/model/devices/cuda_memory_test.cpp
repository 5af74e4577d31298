// SPDX-License-Identifier: Apache-2.0
// Compares the estimate of a GPU's memory with the memory that a run takes.
#include <doctest/doctest.h>

#include <cmath>

#include "model/devices/dry_model.hpp"
#include "model/devices/model.hpp"
#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/device/cuda/cuda_devices.hpp"
#include "runtime/device/upload.hpp"
#include "tests/model/batch_parts.hpp"
#include "tests/model/golden.hpp"

using namespace lockstep;

namespace {

constexpr auto precision = train::Precision::bf16;

train::Master master_of(const train::TrainOptions& options) {
    return options.optimizer.offload == train::Offload::optimizer ? train::Master::offloaded
                                                                  : train::Master::kept;
}

std::size_t reckoned(const model::ModelConfig& config, const train::TrainOptions& options,
                     const train::BatchShape& shape) {
    const auto dry = model::make_dry_model(config, precision, model::DeviceKind::gpu);
    return dry->step(options, master_of(options), {}).memory.total() + dry->constant_bytes() +
           dry->training_bytes(shape) +
           device::uploads_held * device::upload_capacity(dry->batch_bytes(shape)) +
           dry->scratch_bytes(shape);
}

// Runs a few steps, enough to use every slot of the upload, and returns the memory that they took.
std::size_t taken(const model::ModelConfig& config, const train::TrainOptions& options,
                  const train::Batch& batch, std::size_t activations) {
    const std::size_t before = device::free_gpu_bytes(0);
    model::GpuSettings settings;
    settings.master = master_of(options);
    const auto model = model::make_cuda_model(config, precision, settings);
    comm::LocalCommunicator alone;
    Trace trace(Trace::Recording::off, 0);
    const auto engine = model->make_engine(options, alone, trace, nullptr);
    model->reserve(activations);
    model->initialize(1);
    engine->restore({}, 1);
    for (std::uint64_t step = 0; step < 4; ++step) {
        engine->queue({.seed = 1, .step = step, .first_update = 0, .rates = {1e-3f, 1e-3f, 1e-3f}},
                      {batch});
        (void)engine->take_result();
    }
    return before - device::free_gpu_bytes(0);
}

}  // namespace

TEST_CASE("a run takes of a GPU's memory what is reckoned, also if its optimizer is offloaded") {
    struct Kept {
        train::OptimizerKind optimizer;
        train::Offload offload;
    };
    for (const std::string name : {"aiayn_relu_sinusoidal", "gpt2"})
        for (const Kept& kept : {Kept{train::OptimizerKind::adam, train::Offload::none},
                                 Kept{train::OptimizerKind::adam, train::Offload::optimizer},
                                 Kept{train::OptimizerKind::adafactor, train::Offload::none}}) {
            CAPTURE(name);
            CAPTURE(train::name(kept.offload));
            tests::Golden golden(name);
            const train::Batch batch =
                tests::with_following_labels(tests::with_filler(golden.batch(""), 200));
            train::TrainOptions options;
            options.optimizer.kind = kept.optimizer;
            options.optimizer.offload = kept.offload;
            const auto shape = tests::shape_of(batch);
            const auto dry =
                model::make_dry_model(golden.config(), precision, model::DeviceKind::gpu);
            const std::size_t expected = reckoned(golden.config(), options, shape);
            const std::size_t found =
                taken(golden.config(), options, batch, dry->training_bytes(shape));
            CAPTURE(expected);
            CAPTURE(found);
            // The rest is sums, those of a layer that are deferred, the state of a step and the
            // like.
            constexpr std::size_t small = 64 << 10;
            CHECK(found >= expected);
            CHECK(found <= expected + small);
        }
}
