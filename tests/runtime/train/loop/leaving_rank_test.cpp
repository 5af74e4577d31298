// SPDX-License-Identifier: Apache-2.0
// A rank may leave a step by an exception while its communicator still works on the step's memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/loop/trainer.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "runtime/train/reduction/tied_rows_inl.hpp"
#include "runtime/train/step/device_engine_inl.hpp"
#include "tests/runtime/train/toy_model.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/runtime/train/training_run.hpp"
#include "tests/support/held_communicator.hpp"

using namespace lockstep;
using tests::HeldCommunicator;
using tests::ToyModel;
using tests::ToySource;

namespace {

// Fails in backward, when the first bucket is under way.
class FailingModel final : public tests::ModelWrapper {
public:
    using ModelWrapper::ModelWrapper;

    void train(const kernels::StepState*, kernels::LossSums*, kernels::Into,
               train::GradientSink& sink) override {
        sink.ready(0, parameters()[1].offset);
        throw Error(ErrorKind::data, "a bad batch");
    }
};

train::TrainOptions small_buckets() {
    train::TrainOptions options;
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 16 * sizeof(float);
    return options;
}

struct FailingRank {
    device::CpuContext context{1};
    Trace trace{Trace::Recording::off, 0};
    train::ParameterTable table = ToyModel::make_table();
    train::ParameterStore<HostSpace> store{table, train::Precision::fp32};
    ToyModel toy{table, store, {}};
    FailingModel model{toy};
    train::DeviceEngine<device::CpuContext> engine;

    explicit FailingRank(comm::Communicator& ranks)
        : engine(small_buckets(), {context, ranks, ranks, trace, model, store}) {}
};

class NoEvents final : public train::TrainingObserver, public train::CheckpointSink {
public:
    void on_step(const train::StepReport&) override {}
    void on_validation(const train::ValidationReport&) override {}
    void on_epoch(std::int64_t) override {}
    void save(train::CheckpointKind, const train::TrainerState&) override {}
};

// Tells whether the stack below the caller stays as it is.
[[gnu::noinline]] bool leaves_the_stack(HeldCommunicator& ranks) {
    std::array<volatile unsigned char, 1 << 16> stack;
    for (auto& byte : stack) byte = 0x5a;
    ranks.perform();
    return std::all_of(stack.begin(), stack.end(), [](auto& byte) { return byte == 0x5a; });
}

}  // namespace

TEST_CASE("the sum of a step's tokens writes to no memory that a leaving rank has freed") {
    constexpr std::int64_t rows = 400;
    const std::vector<std::uint64_t> pattern(rows / 4, 7);
    HeldCommunicator ranks;
    device::CpuContext context(1);
    {
        train::TiedRows<device::CpuContext> tied(context, ranks, {0, rows, 4});
        const train::Batch batch = ToySource::batch_of({1, 2});
        tied.name(&batch);
    }
    const std::vector<std::vector<std::uint64_t>> later(64, pattern);  // has the freed memory
    ranks.perform();
    for (const auto& memory : later) CHECK(memory == pattern);
}

TEST_CASE("the sum of the step vector writes to no stack that a leaving rank has left") {
    HeldCommunicator ranks;
    FailingRank rank(ranks);
    ToySource source({1, 0, 1, 10, 2});
    NoEvents events;
    const train::StopFlag stop{false};
    train::Trainer trainer(small_buckets(),
                           {rank.engine, ranks, rank.trace, source, events, events, nullptr, stop});
    CHECK_THROWS_WITH_AS(trainer.run(), "a bad batch", Error);
    CHECK(leaves_the_stack(ranks));
}

TEST_CASE("no other rank's sum reads the gradient of a rank that has left") {
    comm::ThreadWorld world(2);
    const auto leaving = world.join(0), other = world.join(1);
    const auto leave = [&] {
        FailingRank rank(*leaving);
        rank.engine.restore({}, 1);
        rank.engine.queue({}, {ToySource::batch_of({1, 2})});
    };
    CHECK_THROWS_WITH_AS(leave(), "a bad batch", Error);
    const auto table = ToyModel::make_table();
    std::vector<float> bucket(train::plan_buckets(table, small_buckets().reducer).front().count);
    other->all_reduce(view_of(bucket), comm::ReduceOp::sum, "bucket 0");
    CHECK_THROWS_AS(other->finish(), Error);
    CHECK_THROWS_WITH_AS(leaving->finish(), doctest::Contains("left"), Error);
}
