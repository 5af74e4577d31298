// SPDX-License-Identifier: Apache-2.0
// Two GPUs, connected by the emulated NCCL with threads as ranks, compute the same as one.
#include <doctest/doctest.h>
#include <nccl.h>

#include "model/blocks/layout.hpp"
#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/device/cuda/cuda_readback.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "runtime/train/sharing/weight_hash.hpp"
#include "tests/model/device_run.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using tests::DeviceRun;

namespace {

train::TrainOptions two_lanes() {
    train::TrainOptions options;
    options.lanes = 2;
    options.optimizer.learningrate = 0.01;
    options.schedule.kind = train::ScheduleKind::fixed;
    options.limits.max_train_steps = 6;
    options.hash_every_n_updates = 2;
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 4096;
    return options;
}

std::vector<DeviceRun> run(int world, const train::TrainOptions& options,
                           train::Precision precision,
                           comm::GpuBackend backend = comm::GpuBackend::nccl) {
    model::GpuSettings settings;
    settings.backend = backend;
    auto config = tests::toy_config(model::Kind::gpt2);
    config.dropout = 0.1f;
    std::vector<DeviceRun> runs(static_cast<std::size_t>(world));
    comm::run_as_threads(world, [&](comm::Communicator& ranks) {
        const auto model = model::make_cuda_model(config, precision, settings);
        runs[static_cast<std::size_t>(ranks.rank())] = tests::train_on(*model, options, ranks);
    });
    return runs;
}

}  // namespace

TEST_CASE("two GPUs with a lane each are one with two lanes, and keep the same weights") {
    const auto options = two_lanes();
    const auto one = run(1, options, train::Precision::fp32);
    const auto two = run(2, options, train::Precision::fp32);
    CHECK(difference(one[0], two[0]) < 1e-5);
    CHECK(two[0].steps.back().loss == two[1].steps.back().loss);
    CHECK(two[0].state.tokens == one[0].state.tokens);
    CHECK(emulated_nccl_communicators() == 0);
}

TEST_CASE("two GPUs that reduce through the host are those that do by NCCL, bit for bit") {
    for (const auto type : {Dtype::fp32, Dtype::bf16}) {
        auto options = two_lanes();
        options.reducer.comm_dtype = type;
        const auto staged = run(2, options, train::Precision::bf16, comm::GpuBackend::staged);
        const auto nccl = run(2, options, train::Precision::bf16);
        CHECK(difference(staged[0], nccl[0]) == 0);
        CHECK(staged[0].steps.back().loss == staged[1].steps.back().loss);
        CHECK(staged[0].steps.back().loss == nccl[0].steps.back().loss);
    }
}

TEST_CASE("two GPUs skip an overflow together, and gradients may travel as bf16") {
    auto options = two_lanes();
    options.loss_scaling = {kernels::LossScaling::Kind::dynamic, 0x1p28F, 0x1p-5F};
    options.reducer.comm_dtype = Dtype::bf16;
    const auto two = run(2, options, train::Precision::fp16);
    CHECK(two[0].steps.front().outcome == train::Outcome::not_finite);
    CHECK(two[0].steps.back().outcome == train::Outcome::updated);
    CHECK(two[0].state.updates == 6);
    CHECK(two[0].steps.size() == two[1].steps.size());
}

TEST_CASE("a step's communication is told with that step, whatever was shared before") {
    const auto options = two_lanes();
    comm::run_as_threads(2, [&](comm::Communicator& ranks) {
        const auto model = model::make_cuda_model(tests::toy_config(model::Kind::gpt2),
                                                  train::Precision::fp32, {});
        Trace trace(Trace::Recording::on, ranks.rank());
        const auto engine = model->make_engine(options, ranks, trace, nullptr);
        CHECK(emulated_nccl_registered() >= 1);  // the gradient
        engine->share_weights();
        engine->share_optimizer();
        engine->restore({}, 1);
        engine->queue({}, {tests::ToySource::batch_of({1, 2})});
        (void)engine->take_result();
        const tests::ScratchFolder folder;
        trace.write(folder / "trace");
        const std::string told = tests::read_text(folder / "trace");
        for (const std::string label : {"initial weights", "optimizer state", "bucket 0"})
            CHECK(told.find(label) != std::string::npos);
    });
}

TEST_CASE("products behind a small micro-batch's bucket leave room for its reduction") {
    const auto products_of = [](comm::Communicator& ranks) {
        auto config = tests::toy_config(model::Kind::gpt2);
        config.decoder_layers = 3;
        const auto model = model::make_cuda_model(config, train::Precision::fp32, {});
        Trace trace(Trace::Recording::off, ranks.rank());
        const auto engine = model->make_engine(two_lanes(), ranks, trace, nullptr);
        engine->share_weights();
        engine->restore({}, 1);
        std::vector<std::pair<std::int64_t, std::int64_t>> products;  // on a part of the GPU; all
        for (std::uint64_t step = 0; step < 4; ++step) {
            const auto given = tests::cuda_emulation::given_by([&] {
                engine->queue({.seed = 1, .step = step}, {tests::ToySource::batch_of({1, 2})});
            });
            products.push_back({given.launches("product on a part"), given.launches("product")});
            (void)engine->take_result();
        }
        return products;
    };
    comm::run_as_threads(2, [&](comm::Communicator& ranks) {
        const auto products = products_of(ranks);
        CHECK(products.front().first > 0);
        CHECK(products.front().first < products.front().second);
        for (const auto& step : products) CHECK(step == products.front());  // replayed graphs too
    });
    comm::LocalCommunicator alone;
    CHECK(products_of(alone).front().first == 0);
}

TEST_CASE("a step calls NCCL once for each bucket and once for the losses") {
    const auto options = two_lanes();
    const auto config = tests::toy_config(model::Kind::gpt2);
    const auto buckets = train::plan_buckets(model::parameter_table(config), options.reducer);
    std::atomic<int> before{0};
    comm::run_as_threads(2, [&](comm::Communicator& ranks) {
        const auto model = model::make_cuda_model(config, train::Precision::fp32, {});
        Trace trace(Trace::Recording::off, ranks.rank());
        const auto engine = model->make_engine(options, ranks, trace, nullptr);
        engine->share_weights();
        engine->restore({}, 1);
        before = emulated_nccl_calls();
        ranks.barrier("counted");
        ranks.finish();
        engine->queue({}, {tests::ToySource::batch_of({1, 2})});
        (void)engine->take_result();
    });
    CHECK(buckets.size() > 2);
    CHECK(emulated_nccl_calls() - before == 2 * (static_cast<int>(buckets.size()) + 1));
}

TEST_CASE("comparing the weights allocates nothing and waits for the hash alone") {
    comm::run_as_threads(2, [](comm::Communicator& ranks) {
        const auto model = model::make_cuda_model(tests::toy_config(model::Kind::gpt2),
                                                  train::Precision::bf16, {});
        Trace trace(Trace::Recording::off, ranks.rank());
        const auto engine = model->make_engine(two_lanes(), ranks, trace, nullptr);
        engine->share_weights();
        const auto given = tests::cuda_emulation::given_by([&] {
            engine->hash_weights();
            engine->check_weights_alike(1);
        });
        const std::map<std::string, std::int64_t> expected = {{"cudaMemsetAsync", 1},
                                                              {"cudaLaunchKernelEx", 1},
                                                              {"cudaMemcpyAsync", 1},
                                                              {"cudaEventRecord", 1},
                                                              {"cudaEventSynchronize", 1}};
        CHECK(given.calls == expected);
        CHECK(given.downloads.bytes == 8);
    });
}

TEST_CASE("a hash of the weights waits for nothing that is queued behind it") {
    train::ParameterTable table;
    table.add("weights", {64}, 0, train::WeightDecay::apply);
    device::CudaContext context(0);
    const train::ParameterStore<CudaSpace> store(table, train::Precision::fp32);
    train::WeightHash<device::CudaContext> hash(context);
    hash.queue(store);
    const auto later = std::make_shared<EmulatedTask>();
    emulated_queue(context.stream(), later);
    const std::uint64_t before = hash.take();
    later->done = true;
    hash.queue(store);
    CHECK(hash.take() == before);
    store.master().data()[3] = 1;
    hash.queue(store);
    CHECK(hash.take() != before);
}

TEST_CASE("a rank that fails frees its memory without waiting for what it has queued") {
    CHECK_THROWS_WITH(comm::run_as_threads(
                          2,
                          [](comm::Communicator& ranks) {
                              const auto model = model::make_cuda_model(
                                  tests::toy_config(model::Kind::gpt2), train::Precision::fp32, {});
                              Trace trace(Trace::Recording::off, ranks.rank());
                              const auto engine =
                                  model->make_engine(two_lanes(), ranks, trace, nullptr);
                              engine->restore({}, 1);
                              if (ranks.rank() == 0)
                                  engine->queue({}, {tests::ToySource::batch_of({1, 2})});
                              throw std::logic_error("bad data");
                          }),
                      "bad data");
    CHECK(emulated_nccl_communicators() == 0);
}
