// SPDX-License-Identifier: Apache-2.0
// A GPU whose optimizer lies in the host's memory trains as one that keeps everything, bit for bit:
// whole runs on the emulated device.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <limits>

#include "model/blocks/layout.hpp"
#include "tests/model/devices/offload_run.hpp"

using namespace lockstep;
using tests::DeviceRun;
using tests::offload_setup;
using tests::OffloadSetup;
using tests::Place;
using train::Master;
using train::OptimizerKind;
using train::Precision;

namespace {

void check_offload(const OffloadSetup& setup) {
    const auto kept = tests::run_offloaded(setup, Place::gpu),
               offloaded = tests::run_offloaded(setup, Place::host);
    tests::check_same_run(kept[0], offloaded[0]);
    for (const DeviceRun& rank : offloaded) CHECK(rank.state.updates == kept[0].state.updates);
}

}  // namespace

TEST_CASE("a run whose optimizer is offloaded has the same losses, norms and weights") {
    for (const auto precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
        CAPTURE(train::name(precision));
        check_offload(offload_setup(1, 0, precision));
    }
    for (const auto optimizer : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::lion}) {
        OffloadSetup setup = offload_setup(1, 0, Precision::bf16);
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
            check_offload(offload_setup(2, stage, precision));
        }
}

TEST_CASE("an offloaded run is the same in other modes") {
    OffloadSetup setup = offload_setup(2, 0, Precision::fp16);
    SUBCASE("without graphs") { setup.max_graphs = 0; }
    SUBCASE("through the host") { setup.backend = comm::GpuBackend::staged; }
    SUBCASE("several lanes of a rank") { setup.options.lanes = 4; }
    SUBCASE("an overflow is skipped") {
        setup.options.loss_scaling = {kernels::LossScaling::Kind::dynamic, 0x1p28F, 0x1p-5F};
        setup.options.limits.max_train_steps = 6;
        const auto offloaded = tests::run_offloaded(setup, Place::host);
        CHECK(offloaded[0].steps.front().outcome == train::Outcome::not_finite);
    }
    check_offload(setup);
}

TEST_CASE("an offloaded engine works on the step that it is given, not ahead of it") {
    const OffloadSetup setup = offload_setup(1, 0, Precision::bf16);
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

TEST_CASE("a host that cannot pin the weights or the moments ends the run, and pins nothing more") {
    const std::size_t weights_bytes =
        model::parameter_table(tests::toy_config(model::Kind::gpt2)).flat_size() * sizeof(float);
    const OffloadSetup setup = offload_setup(1, 0, Precision::bf16);
    const std::size_t before = emulated_pinned_bytes();
    for (const std::size_t room_bytes : {std::size_t{1024}, weights_bytes + 1024}) {
        CAPTURE(room_bytes);
        emulated_pinned_limit(before + room_bytes);
        CHECK_THROWS_WITH_AS((void)tests::run_offloaded(setup, Place::host),
                             doctest::Contains("MiB more of its memory: end other programs, or "
                                               "leave --offload out if it is given"),
                             Error);
        emulated_pinned_limit(std::numeric_limits<std::size_t>::max());
        CHECK(emulated_pinned_bytes() == before);
    }
}
