// SPDX-License-Identifier: Apache-2.0
// Compares training on a GPU, one step ahead of the host, with PyTorch and with the CPU.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/comm/queue/local_communicator.hpp"
#include "tests/model/device_run.hpp"
#include "tests/model/golden.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using model::Kind;
using tests::DeviceRun;
using tests::Golden;
using tests::toy_config;
using train::Master;
using train::OptimizerKind;
using train::Precision;

namespace {

constexpr int steps = 20;

train::TrainOptions options_of(OptimizerKind optimizer) {
    train::TrainOptions options;
    options.lanes = 2;
    options.optimizer.kind = optimizer;
    options.optimizer.learningrate = optimizer == OptimizerKind::sgd    ? 0.2
                                     : optimizer == OptimizerKind::lion ? 0.003
                                                                        : 0.01;
    options.optimizer.momentum = 0.5;
    options.optimizer.weight_decay = 0.01;
    options.optimizer.gradient_clip = 1;
    options.schedule.kind = train::ScheduleKind::invsqrt;
    options.schedule.warmup_updates = 5;
    options.limits.max_train_steps = steps;
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 4096;
    return options;
}

train::TrainOptions fp16_options(float first_scale) {
    auto options = options_of(OptimizerKind::adam);
    options.loss_scaling = {kernels::LossScaling::Kind::dynamic, first_scale, 0x1p-5F};
    return options;
}

model::ModelConfig with_dropout(model::ModelConfig config) {
    config.dropout = 0.1f;
    config.attention_dropout = 0.1f;
    config.relu_dropout = 0.1f;
    return config;
}

DeviceRun on_cpu(const model::ModelConfig& config, const train::TrainOptions& options,
                 const tests::RunFiles& files = {}, Precision precision = Precision::fp32) {
    return train_on(*model::make_cpu_model(config, precision, 1), options, files);
}

DeviceRun on_gpu(const model::ModelConfig& config, const train::TrainOptions& options,
                 const tests::RunFiles& files = {}, Precision precision = Precision::fp32,
                 Master master = Master::kept) {
    model::GpuSettings settings;
    settings.master = master;
    return train_on(*model::make_cuda_model(config, precision, settings), options, files);
}

}  // namespace

TEST_CASE("20 updates on a GPU follow PyTorch's loss curve") {
    for (const std::string name : {"generator", "gpt2"}) {
        CAPTURE(name);
        Golden golden("curve_" + name);
        const auto curve = golden.tensor("curve");
        train::TrainOptions options;
        options.optimizer.kind = OptimizerKind::adamw;
        options.optimizer.gradient_clip = 0;
        const auto model = model::make_cuda_model(golden.config(), Precision::fp32, {});
        comm::LocalCommunicator alone;
        Trace trace(Trace::Recording::off, 0);
        const auto engine = model->make_engine(options, alone, trace, nullptr);
        const auto tensors = engine->fetch();
        tests::set_pattern(tensors.table, tensors.master);
        engine->write_back();
        engine->restore({}, 1);
        CHECK(engine->steps_ahead() == 1);
        const auto check_oldest = [&](std::size_t step) {
            const auto losses = engine->take_result().step.sums.losses;
            CHECK(std::abs(losses.loss / losses.tokens - curve[step]) < 1e-3);
        };
        for (std::size_t step = 0; step < curve.size(); ++step) {
            engine->queue(
                {.seed = 1, .step = step, .first_update = 0, .rates = {3e-3f, 3e-3f, 3e-3f}},
                {golden.batch(std::to_string(step % 4) + ".")});
            if (step > 0) check_oldest(step - 1);
        }
        check_oldest(curve.size() - 1);
    }
}

TEST_CASE("a GPU's run is the CPU's, with dropout, clipping and a schedule") {
    for (const auto& [kind, optimizer] :
         {std::pair{Kind::generator, OptimizerKind::sgd},
          std::pair{Kind::gpt2, OptimizerKind::adam}, std::pair{Kind::gpt2, OptimizerKind::lion}}) {
        CAPTURE(static_cast<int>(optimizer));
        const auto config = with_dropout(toy_config(kind));
        const auto options = options_of(optimizer);
        const DeviceRun cpu = on_cpu(config, options), gpu = on_gpu(config, options);
        REQUIRE(cpu.steps.size() == steps);
        CHECK(cpu.steps.back().loss < 0.95 * cpu.steps.front().loss);
        CHECK(difference(cpu, gpu) < 1e-4);
        for (std::size_t i = 0; i < steps; ++i) {
            CHECK(gpu.steps[i].lr == cpu.steps[i].lr);
            CHECK(gpu.steps[i].gnorm == doctest::Approx(cpu.steps[i].gnorm).epsilon(1e-3));
            CHECK(gpu.steps[i].clipped == cpu.steps[i].clipped);
        }
        CHECK(gpu.state.tokens == cpu.state.tokens);
    }
}

TEST_CASE("16 bits on a GPU stay near fp32, with adafactor's weights as well") {
    const auto config = with_dropout(toy_config(Kind::gpt2));
    for (const auto optimizer : {OptimizerKind::adam, OptimizerKind::adafactor}) {
        auto options = options_of(optimizer);
        if (optimizer == OptimizerKind::adafactor) options.limits.max_train_steps = 6;
        const DeviceRun exact = on_cpu(config, options);
        CHECK(difference(exact, on_gpu(config, options)) < 1e-3);
        CHECK(difference(exact, on_gpu(config, options, {}, Precision::bf16)) < 0.03);
        CHECK(difference(exact, on_gpu(config, options, {}, Precision::fp16)) < 0.004);
    }
}

TEST_CASE(
    "fp16's loss scale falls until nothing overflows, and the updates skipped never happened") {
    const auto config = toy_config(Kind::gpt2);
    const auto options = fp16_options(0x1p30F);
    const DeviceRun exact = on_cpu(config, options_of(OptimizerKind::adam));
    for (const Master master : {Master::kept, Master::none}) {
        const DeviceRun run = on_gpu(config, options, {}, Precision::fp16, master);
        REQUIRE(run.steps.size() > steps + 3);
        CHECK(run.steps.front().outcome == train::Outcome::not_finite);
        CHECK(run.steps.front().loss == doctest::Approx(exact.steps.front().loss).epsilon(0.01));
        CHECK(run.steps.back().outcome == train::Outcome::updated);
        CHECK(run.steps.back().loss_scale.value() < 0x1p28F);
        CHECK(run.state.updates == steps);
        // Weights without a master lose the bits that fp16 cannot hold.
        const double bound = master == Master::kept ? 0.1 : 0.2;
        CHECK(run.steps.back().loss < (1 + bound) * exact.steps.back().loss);
        std::int64_t updates = 0;
        for (const train::StepReport& step : run.steps) {
            if (step.outcome == train::Outcome::updated) ++updates;
            CHECK(step.updates == updates);
        }
    }
}

TEST_CASE("a checkpoint of one device continues on the other, and bit for bit on its own") {
    const auto config = with_dropout(toy_config(Kind::gpt2));
    const tests::ScratchFolder folder;
    const std::string file = folder / "checkpoint";
    for (const auto optimizer : {OptimizerKind::adam, OptimizerKind::lion}) {
        CAPTURE(static_cast<int>(optimizer));
        const auto whole = options_of(optimizer);
        auto first = whole;
        first.limits.max_train_steps = 8;

        const DeviceRun uninterrupted = on_gpu(config, whole);
        (void)on_gpu(config, first, {"", file});
        const DeviceRun on_its_own = on_gpu(config, whole, {file, ""});
        CHECK(on_its_own.weights == uninterrupted.weights);
        const auto loss_near = [&](const DeviceRun& run) {
            REQUIRE(run.steps.size() == steps - 8);
            return run.steps.back().loss ==
                   doctest::Approx(uninterrupted.steps.back().loss).epsilon(1e-4);
        };
        CHECK(loss_near(on_cpu(config, whole, {file, ""})));
        (void)on_cpu(config, first, {"", file});
        CHECK(loss_near(on_gpu(config, whole, {file, ""})));
    }
}

TEST_CASE("fp16's checkpoint keeps weights without a master, and the loss scale") {
    const auto config = toy_config(Kind::gpt2);
    const tests::ScratchFolder folder;
    const std::string file = folder / "checkpoint";
    auto whole = fp16_options(0x1p22F);
    whole.limits.max_train_steps = 10;
    auto first = whole;
    first.limits.max_train_steps = 4;
    for (const Master master : {Master::kept, Master::none}) {
        const DeviceRun uninterrupted = on_gpu(config, whole, {}, Precision::fp16, master);
        (void)on_gpu(config, first, {"", file}, Precision::fp16, master);
        const DeviceRun resumed = on_gpu(config, whole, {file, ""}, Precision::fp16, master);
        CHECK(resumed.weights == uninterrupted.weights);
        CHECK(resumed.state.loss_scale->value == uninterrupted.state.loss_scale->value);
    }
}
