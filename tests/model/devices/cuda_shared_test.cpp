// SPDX-License-Identifier: Apache-2.0
// GPUs that share a replica train as GPUs that each keep everything, bit for bit, with every
// precision and way to exchange.
#include <doctest/doctest.h>
#include <nccl.h>

#include "runtime/comm/threads/thread_world.hpp"
#include "tests/model/device_run.hpp"

using namespace lockstep;
using tests::DeviceRun;

namespace {

struct Setup {
    int world = 2, sharing = 1;
    train::Precision precision = train::Precision::bf16;
    train::Master master = train::Master::kept;
    comm::GpuBackend backend = comm::GpuBackend::nccl;
    std::size_t max_graphs = 64;
    int stage = 1;
    model::RecomputePlan recompute = {};
    train::TrainOptions options = {};
};

Setup setup_of(int world, train::Precision precision) {
    Setup setup;
    setup.world = world;
    setup.precision = precision;
    train::TrainOptions& options = setup.options;
    options.lanes = world;
    options.optimizer.learningrate = 0.01;
    options.optimizer.weight_decay = 0.01;
    options.optimizer.gradient_clip = 0.1;
    options.schedule.kind = train::ScheduleKind::fixed;
    options.limits.max_train_steps = 8;
    options.validation.every_n_steps = 3;
    options.hash_every_n_updates = 2;
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 4096;
    return setup;
}

std::vector<DeviceRun> run(const Setup& setup, model::Kind kind = model::Kind::gpt2) {
    auto config = tests::toy_config(kind);
    config.dropout = 0.1f;
    std::vector<DeviceRun> runs(static_cast<std::size_t>(setup.world));
    comm::run_as_threads(setup.world, [&](comm::Communicator& ranks) {
        model::GpuSettings settings;
        settings.master = setup.master;
        settings.recompute = setup.recompute;
        settings.backend = setup.backend;
        settings.max_graphs = setup.max_graphs;
        settings.share = {ranks.size(), setup.sharing, ranks.rank() % setup.sharing,
                          setup.options.reducer, setup.stage};
        const auto model = model::make_cuda_model(config, setup.precision, settings);
        runs[static_cast<std::size_t>(ranks.rank())] =
            tests::train_on(*model, setup.options, ranks);
    });
    return runs;
}

void check_same(const DeviceRun& expected, const DeviceRun& got) {
    REQUIRE(expected.steps.size() == got.steps.size());
    for (std::size_t i = 0; i < got.steps.size(); ++i) {
        CAPTURE(i);
        CHECK(got.steps[i].loss == expected.steps[i].loss);
        CHECK(got.steps[i].gnorm == expected.steps[i].gnorm);
        CHECK(got.steps[i].outcome == expected.steps[i].outcome);
    }
    CHECK(got.validation_losses == expected.validation_losses);
    CHECK(got.weights == expected.weights);
}

// What the ranks of a replica own makes the weights that rank 0 gathers.
void check_owned(const std::vector<DeviceRun>& runs) {
    std::vector<float> all(runs[0].weights.size());
    for (const DeviceRun& run : runs)
        for (std::size_t i = 0; i < all.size(); ++i) all[i] += run.owned.at(i);
    CHECK(all == runs[0].weights);
}

void check_sharing(Setup setup, model::Kind kind = model::Kind::gpt2) {
    const auto apart = run(setup, kind);
    setup.sharing = setup.world;
    const auto shared = run(setup, kind);
    check_same(apart[0], shared[0]);
    check_owned(shared);
    CHECK(emulated_nccl_communicators() == 0);
}

// From stage 2 on, a tied table is summed at once, as it is at stage 0 without overlap.
void check_slots(Setup setup, model::Kind kind = model::Kind::gpt2) {
    Setup whole = setup;
    whole.options.reducer.overlap = train::Overlap::off;
    const auto apart = run(whole, kind);
    setup.sharing = setup.world;
    for (const int stage : {2, 3}) {
        CAPTURE(stage);
        setup.stage = stage;
        const auto shared = run(setup, kind);
        check_same(apart[0], shared[0]);
        check_owned(shared);
        CHECK(emulated_nccl_communicators() == 0);
    }
}

constexpr auto fp32 = train::Precision::fp32;
constexpr auto brain16 = train::Precision::bf16;
constexpr auto half16 = train::Precision::fp16;

}  // namespace

TEST_CASE("GPUs that share a replica train as those that do not, bit for bit") {
    for (const auto precision : {fp32, brain16, half16})
        for (const int world : {2, 3}) {
            CAPTURE(world);
            CAPTURE(train::name(precision));
            check_sharing(setup_of(world, precision));
            check_slots(setup_of(world, precision));
        }
}

TEST_CASE("a generator's blocks are gathered before it reads them") {
    check_sharing(setup_of(2, brain16), model::Kind::generator);
    check_slots(setup_of(2, brain16), model::Kind::generator);
}

TEST_CASE("16-bit weights without a master are shared, too") {
    for (const auto precision : {brain16, half16}) {
        Setup setup = setup_of(2, precision);
        setup.master = train::Master::none;
        check_sharing(setup);
    }
}

TEST_CASE("rank 0 copies for saves into the memory that a checkpoint was loaded into") {
    const Setup setup = setup_of(2, brain16);
    comm::run_as_threads(2, [&](comm::Communicator& ranks) {
        model::GpuSettings settings;
        settings.share = {2, 2, ranks.rank(), setup.options.reducer, 1};
        const auto model =
            model::make_cuda_model(tests::toy_config(model::Kind::gpt2), setup.precision, settings);
        Trace trace(Trace::Recording::off, ranks.rank());
        const auto engine = model->make_engine(setup.options, ranks, trace, nullptr);
        const auto loaded = engine->fetch();
        const float *const weights = loaded.master.data(), *const moments =
                                                               loaded.optimizer[0].values.data();
        engine->write_back();
        engine->share_weights();
        engine->share_optimizer();
        const auto copy = engine->copy_for_save();
        if (ranks.rank() != 0) return;
        CHECK(copy.master.data() == weights);
        CHECK(copy.optimizer[0].values.data() == moments);
    });
}

namespace {

// A value that every precision holds, and that differs from that of the neighbours.
float value_of(std::size_t tensor, std::size_t element) {
    return static_cast<float>(tensor * 7 + element % 61) / 8;
}

// Writes value_of() into what this rank owns, and tells what rank 0 finds then.
void check_written(const Setup& setup, comm::Communicator& ranks) {
    model::GpuSettings settings;
    settings.master = setup.master;
    settings.share = {ranks.size(), ranks.size(), ranks.rank(), setup.options.reducer, setup.stage};
    const auto model =
        model::make_cuda_model(tests::toy_config(model::Kind::gpt2), setup.precision, settings);
    Trace trace(Trace::Recording::off, ranks.rank());
    const auto engine = model->make_engine(setup.options, ranks, trace, nullptr);
    const auto pieces = engine->owned()->current();
    const auto fill = [](const std::vector<train::RunPiece>& all) {
        for (const train::RunPiece& piece : all)
            for (std::size_t i = 0; i < piece.values.size(); ++i)
                piece.values[i] = value_of(piece.name.size() % 16, piece.first + i);
    };
    fill(pieces.weights);
    fill(pieces.optimizer);
    engine->owned()->write_back(train::OwnedAccess::Written::all);
    engine->share_weights();
    engine->share_optimizer();
    const auto copy = engine->copy_for_save();
    if (ranks.rank() != 0) return;
    for (const train::Parameter& p : copy.table.all())
        for (std::size_t i = 0; i < p.count; ++i)
            REQUIRE(copy.master[p.offset + i] == value_of(p.name.size() % 16, i));
    for (const train::OptimizerTensor& tensor : copy.optimizer)
        for (std::size_t i = 0; i < tensor.values.size(); ++i)
            REQUIRE(tensor.values[i] == value_of(tensor.name.size() % 16, i));
}

}  // namespace

TEST_CASE("what each rank writes into its own part is the state of all") {
    for (const auto precision : {fp32, brain16, half16})
        for (const auto master :
             {train::Master::kept, train::Master::none, train::Master::offloaded})
            for (const int stage : {1, 2, 3}) {
                const bool all_weights = master == train::Master::none;
                if (all_weights && (precision == fp32 || stage == 3)) continue;
                CAPTURE(train::name(precision));
                CAPTURE(stage);
                CAPTURE(static_cast<int>(master));
                Setup setup = setup_of(3, precision);
                setup.master = master;
                if (master == train::Master::offloaded)
                    setup.options.optimizer.offload = train::Offload::optimizer;
                setup.stage = stage;
                comm::run_as_threads(
                    3, [&](comm::Communicator& ranks) { check_written(setup, ranks); });
            }
}

TEST_CASE("GPUs share a replica in every other mode") {
    Setup setup = setup_of(2, half16);
    SUBCASE("through the host") { setup.backend = comm::GpuBackend::staged; }
    SUBCASE("without graphs") { setup.max_graphs = 0; }
    SUBCASE("gradients that travel as bf16") { setup.options.reducer.comm_dtype = Dtype::bf16; }
    SUBCASE("without overlap") { setup.options.reducer.overlap = train::Overlap::off; }
    SUBCASE("several lanes of a rank") { setup.options.lanes = 4; }
    SUBCASE("moments in int8") { setup.options.optimizer.moments = train::Moments::int8; }
    SUBCASE("an overflow is skipped together") {
        setup.options.loss_scaling = {kernels::LossScaling::Kind::dynamic, 0x1p28F, 0x1p-5F};
        setup.options.limits.max_train_steps = 6;
    }
    check_sharing(setup);
}

TEST_CASE("GPUs share gradients and weights in every other mode") {
    Setup setup = setup_of(2, half16);
    SUBCASE("through the host") { setup.backend = comm::GpuBackend::staged; }
    SUBCASE("without graphs") { setup.max_graphs = 0; }
    SUBCASE("without overlap") { setup.options.reducer.overlap = train::Overlap::off; }
    SUBCASE("layers that are calculated again") { setup.recompute = {model::Recompute::layer}; }
    SUBCASE("moments in int8") { setup.options.optimizer.moments = train::Moments::int8; }
    SUBCASE("an overflow is skipped together") {
        setup.options.loss_scaling = {kernels::LossScaling::Kind::dynamic, 0x1p28F, 0x1p-5F};
        setup.options.limits.max_train_steps = 6;
    }
    check_slots(setup);
}

TEST_CASE("two replicas of two GPUs keep the same weights") {
    Setup setup = setup_of(4, brain16);
    setup.sharing = 4;
    const auto all = run(setup);
    setup.sharing = 2;
    const auto pairs = run(setup);
    CHECK(tests::difference(all[0], pairs[0]) < 0.05);
    CHECK(pairs[3].steps.back().loss == pairs[0].steps.back().loss);
    setup.stage = 2;
    const auto second = run(setup);
    CHECK(tests::difference(all[0], second[0]) < 0.05);
    setup.stage = 3;
    check_same(second[0], run(setup)[0]);
}
