// SPDX-License-Identifier: Apache-2.0
// A rank leaves the training by an exception, anywhere in a step. The others must end with an
// error, and no memory may be used after it was freed. The emulated device ends the test if memory
// is freed while the device works.
#include <doctest/doctest.h>
#include <nccl.h>

#include "runtime/comm/threads/thread_world.hpp"
#include "tests/model/device_run.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/support/leaving_communicator.hpp"

using namespace lockstep;
using tests::LeavingCommunicator;
using tests::ToySource;

namespace {

constexpr int steps = 3, never = LeavingCommunicator::never;

struct Setup {
    int world = 2;
    Dtype travels = Dtype::fp32;
    comm::GpuBackend backend = comm::GpuBackend::nccl;
};

// Names the rank that leaves, and where: instead of that call of the hosts' communicator, or at
// that micro-batch, which the model refuses.
struct Leaves {
    int rank = 0, call = never, batch = never;
};

// The second micro-batch of a step is the last one, except on rank 1, which has none in step 1.
std::vector<train::Batch> lanes_of(int rank, int step, int refused) {
    std::vector<train::Batch> lanes(2);
    if (rank == 1 && step == 1) return lanes;
    for (int lane = 0; lane < 2; ++lane) {
        train::Batch& batch = lanes[static_cast<std::size_t>(lane)];
        batch = ToySource::batch_of({static_cast<std::uint32_t>(rank), 4});
        if (2 * step + lane == refused) batch.target.longest = 1000;
    }
    return lanes;
}

// Trains as one rank, and returns how often it calls the hosts' communicator.
int train_as(comm::Communicator& below, const Setup& setup, const Leaves& leaves) {
    const bool leaving = below.rank() == leaves.rank;
    LeavingCommunicator ranks(below);
    auto config = tests::toy_config(model::Kind::gpt2);
    config.vocabulary = 64;
    model::GpuSettings settings;
    settings.backend = setup.backend;
    // A rank whose GPU waits for one that has left ends at the time-out.
    settings.timeout_ms = 3000;
    const auto model = model::make_cuda_model(config, train::Precision::fp32, settings);
    train::TrainOptions options;
    options.reducer.comm_dtype = setup.travels;
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 4096;
    Trace trace(Trace::Recording::off, ranks.rank());
    const auto engine = model->make_engine(options, ranks, trace, nullptr);
    engine->share_weights();
    engine->restore({}, 1);
    ranks.leave_at(leaving ? leaves.call : never);
    for (int step = 0; step < steps; ++step) {
        engine->queue({.seed = 1, .step = static_cast<std::uint64_t>(step)},
                      lanes_of(ranks.rank(), step, leaving ? leaves.batch : never));
        if (step > 0) (void)engine->take_result();
    }
    (void)engine->take_result();
    return ranks.calls();
}

// Returns what run_as_threads() throws: the first rank's own error.
std::string error_of(const Setup& setup, const Leaves& leaves) {
    try {
        comm::run_as_threads(
            setup.world, [&](comm::Communicator& ranks) { (void)train_as(ranks, setup, leaves); });
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a rank may leave at any call of a step, and the others end") {
    const Setup setup{2, Dtype::bf16, comm::GpuBackend::staged};
    int calls = 0;
    comm::run_as_threads(setup.world, [&](comm::Communicator& ranks) {
        const int of_this = train_as(ranks, setup, {});
        if (ranks.rank() == 0) calls = of_this;
    });
    REQUIRE(calls >= 2 * steps);
    for (int call = 0; call < calls; ++call) {
        CAPTURE(call);
        CHECK(error_of(setup, {call % setup.world, call, never}) == "this rank leaves");
    }
}

TEST_CASE("a rank may leave between naming its tokens and the hosts' agreement") {
    for (const auto backend : {comm::GpuBackend::nccl, comm::GpuBackend::staged})
        for (const int batch : {0, 1, 5}) {
            CAPTURE(batch);
            CHECK(error_of({2, Dtype::fp32, backend}, {1, never, batch})
                      .ends_with("a row is longer than the model's n_positions"));
            CHECK(emulated_nccl_communicators() == 0);
        }
}
