// SPDX-License-Identifier: Apache-2.0
// These tests run GPUs that sum a tied table in two parts, on the emulated NCCL, whose ranks are
// threads.
#include <doctest/doctest.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "model/blocks/layout.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/kernels/step.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "tests/model/device_run.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using lockstep::Dtype;
using model::Kind;
using tests::DeviceRun;
using tests::ToySource;

namespace {

// The toy model's rows name 11 tokens. In a vocabulary of 64, all steps are in parts; in one of 11,
// none; in one of 20, the steps that name at most 10.
constexpr std::int64_t few_named = 64, some_named = 20, max_named = 11;

model::ModelConfig config_of(Kind kind, std::int64_t vocabulary) {
    auto config = tests::toy_config(kind);
    config.vocabulary = vocabulary;
    config.decoder_layers = 2;
    config.dropout = 0.1f;
    return config;
}

train::TrainOptions options_of(Dtype type) {
    train::TrainOptions options;
    options.lanes = 8;
    options.optimizer.kind = train::OptimizerKind::sgd;
    options.optimizer.learningrate = 0.1;
    options.schedule.kind = train::ScheduleKind::fixed;
    options.limits.max_train_steps = 5;
    options.hash_every_n_updates = 1;
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 4096;
    options.reducer.comm_dtype = type;
    return options;
}

std::vector<DeviceRun> run(int world, const model::ModelConfig& config, Dtype type,
                           const model::GpuSettings& settings = {}) {
    std::vector<DeviceRun> runs(static_cast<std::size_t>(world));
    comm::run_as_threads(world, [&](comm::Communicator& ranks) {
        const auto model = model::make_cuda_model(config, train::Precision::fp32, settings);
        runs[static_cast<std::size_t>(ranks.rank())] =
            tests::train_on(*model, options_of(type), ranks);
    });
    return runs;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
    return largest;
}

// Counts what each of two ranks sends through NCCL in a step, and holds the labels of its
// collectives.
struct Step {
    std::int64_t calls = 0, bytes = 0;
    std::string trace;
};
using Rows = std::vector<std::uint32_t>;
Step step_of(const model::ModelConfig& config, Dtype type, const std::vector<Rows>& of_rank) {
    Step told;
    comm::run_as_threads(2, [&](comm::Communicator& ranks) {
        const auto model = model::make_cuda_model(config, train::Precision::fp32, {});
        Trace trace(Trace::Recording::on, ranks.rank());
        const auto engine = model->make_engine(options_of(type), ranks, trace, nullptr);
        engine->share_weights();
        engine->restore({}, 1);
        const int calls = emulated_nccl_calls();
        const std::size_t bytes = emulated_nccl_bytes();
        const auto wait = [&] {
            ranks.barrier("counted");
            ranks.finish();
        };
        wait();
        const Rows& rows = of_rank[static_cast<std::size_t>(ranks.rank())];
        engine->queue({}, {rows.empty() ? train::Batch{} : ToySource::batch_of(rows)});
        (void)engine->take_result();
        wait();
        if (ranks.rank() != 0) return;
        const tests::ScratchFolder folder;
        trace.write(folder / "trace");
        told = {(emulated_nccl_calls() - calls) / 2,
                static_cast<std::int64_t>(emulated_nccl_bytes() - bytes) / 2,
                tests::read_text(folder / "trace")};
    });
    return told;
}

std::int64_t named_by(const std::vector<Rows>& of_rank) {
    std::set<std::int32_t> tokens;
    for (const Rows& rows : of_rank) {
        if (rows.empty()) continue;
        const auto batch = ToySource::batch_of(rows);
        tokens.insert(batch.target.tokens.begin(), batch.target.tokens.end());
    }
    return static_cast<std::int64_t>(tokens.size());
}

constexpr auto losses_bytes = static_cast<std::int64_t>(kernels::StepSums::count * sizeof(double));

}  // namespace

TEST_CASE("GPUs that sum a tied table in parts are one GPU, some without a micro-batch") {
    const auto few = config_of(Kind::gpt2, few_named), some = config_of(Kind::gpt2, some_named);
    for (const auto& config : {few, some, config_of(Kind::generator, few_named)}) {
        const auto one = run(1, config, Dtype::fp32);
        for (const int world : {2, 4, 7}) {
            CAPTURE(config.vocabulary);
            CAPTURE(world);
            const auto several = run(world, config, Dtype::fp32);
            CHECK(difference(one[0], several[0]) < 1e-5);
            CHECK(largest_difference(several[0].weights, one[0].weights) < 1e-5);
            CHECK(several.front().weights == several.back().weights);
        }
    }
}

TEST_CASE("a table in parts, in 16 bits") {
    const auto config = config_of(Kind::gpt2, few_named);
    const auto one = run(1, config, Dtype::bf16);
    const auto four = run(4, config, Dtype::bf16);
    CHECK(difference(one[0], four[0]) < 1e-2);
    CHECK(four[0].weights == four[3].weights);
}

TEST_CASE("a table in parts is the same by graphs, call by call, and through the host") {
    const auto config = config_of(Kind::generator, some_named);
    for (const Dtype type : {Dtype::fp32, Dtype::bf16}) {
        model::GpuSettings calls, staged;
        calls.max_graphs = 0;
        staged.backend = comm::GpuBackend::staged;
        const auto graphs = run(2, config, type);
        CHECK(graphs[0].weights == run(2, config, type, calls)[0].weights);
        CHECK(graphs[0].weights == run(2, config, type, staged)[0].weights);
    }
}

TEST_CASE("the table's bucket travels first, and at the end only rows that a rank names") {
    for (const std::vector<Rows>& rows : {std::vector<Rows>{{1, 2}, {3}}, {{}, {5}}, {{4}, {}}})
        for (const Dtype type : {Dtype::fp32, Dtype::bf16}) {
            const auto config = config_of(Kind::gpt2, few_named);
            const auto table = model::parameter_table(config);
            const auto buckets = train::plan_buckets(table, options_of(type).reducer);
            const Step step = step_of(config, type, rows);
            const std::int64_t element = type == Dtype::fp32 ? 4 : 2;
            CHECK(step.bytes == element * static_cast<std::int64_t>(table.flat_size()) +
                                    4 * named_by(rows) * config.embedding_size + losses_bytes);
            CHECK(step.calls == static_cast<std::int64_t>(buckets.size()) + 2);
            const auto at = [&](const std::string& label) {
                return step.trace.find('"' + label + '"');
            };
            const std::string last = "bucket " + std::to_string(buckets.size() - 1);
            REQUIRE(at(last) != std::string::npos);
            CHECK(at(last) < at("bucket 0"));
            CHECK(at("rest of the last bucket") != std::string::npos);
            CHECK(at("rest of the last bucket") >
                  at("bucket " + std::to_string(buckets.size() - 2)));
        }
}

TEST_CASE("a table of which more than half is named travels once, last") {
    const auto config = config_of(Kind::gpt2, max_named);
    const auto table = model::parameter_table(config);
    const std::vector<Rows> rows{{1, 2, 3, 4, 5, 6}, {7, 8}};
    REQUIRE(named_by(rows) > max_named / 2);
    const Step step = step_of(config, Dtype::fp32, rows);
    CHECK(step.bytes == 4 * static_cast<std::int64_t>(table.flat_size()) + losses_bytes);
    CHECK(step.trace.find("rest of the last bucket") == std::string::npos);
}
