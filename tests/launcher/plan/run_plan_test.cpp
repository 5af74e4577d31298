// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/run_plan.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "launcher/options/run_command.hpp"
#include "launcher/plan/nccl_memory.hpp"
#include "launcher/plan/report.hpp"
#include "model/blocks/layout.hpp"
#include "model/devices/dry_model.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/written_dataset.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using plan::plan_run;
using plan::RunPlan;
using Words = std::vector<std::string>;

namespace {

RunConfig config_of(const Words& more) {
    Words words{"--embedding-size", "32",  "--n-layers", "2",     "--ffn-size",    "64",
                "--n-heads",        "2",   "--memory",   "64MiB", "--n-positions", "64",
                "--precision",      "bf16"};
    words.insert(words.end(), more.begin(), more.end());
    return *parse_run(Task::plan, "", words);
}

// Rows of all lengths, some longer than the model's positions.
struct Written {
    tests::ScratchFolder directory;

    Written() {
        tests::write_dataset(directory.path(), tests::random_shard(5, 700, 90),
                             tests::random_shard(6, 30, 40), 2);
    }
    RunConfig config(Words more) const {
        more.insert(more.end(), {"--data", directory.path()});
        return config_of(more);
    }
};

std::int64_t bytes_of(const RunPlan& plan, const std::string& part) {
    for (const plan::Part& one : plan.parts)
        if (one.name.starts_with(part)) return one.bytes;
    return 0;
}

const std::vector<Words> batchings{{"-bs", "6"},
                                   {"-bs", "1"},
                                   {"-bs", "6", "-dynb", "batchsort"},
                                   {"-bs", "3", "-dynb", "full"},
                                   {"--batch-tokens", "300"},
                                   {"-bs", "6", "--truncate", "20"}};
const std::vector<Words> models{{"-m", "transformer/generator"}, {"-m", "gpt2"}};

Words joined(std::initializer_list<Words> lists) {
    Words all;
    for (const Words& words : lists) all.insert(all.end(), words.begin(), words.end());
    return all;
}

}  // namespace

TEST_CASE("no micro-batch of an epoch takes more than the largest that the rules allow") {
    const Written data;
    for (const Words& batching : batchings)
        for (const Words& model : models)
            for (const char* seed : {"1", "2"}) {
                const auto run = plan_run(
                    data.config(joined({batching, model, {"--device", "cpu", "--seed", seed}})));
                CAPTURE(batching.back());
                CAPTURE(model.back());
                REQUIRE(run.epoch);
                CHECK(run.epoch->largest.activations > 0);
                CHECK(run.epoch->largest.activations <= run.batch.activations);
                CHECK(run.epoch->planned_rows == 700);
                CHECK(run.epoch->truncated_rows > 0);
                CHECK(run.epoch->steps == run.epoch->micro_batches);
            }
}

TEST_CASE("what the first epoch takes for certain is told alike, quickly") {
    const Written data;
    for (const Words& batching : batchings) {
        const RunConfig config = data.config(joined({batching, {"--device", "cpu"}}));
        const auto whole = plan_run(config), quick = plan_run(config, plan::Scope::first_epoch);
        CHECK(quick.batch.shape == whole.epoch->largest.shape);
        CHECK(quick.certain_bytes() == whole.certain_bytes());
        CHECK(quick.certain_bytes() < quick.total_bytes());
    }
}

TEST_CASE("the size that fits does, and one more does not") {
    const Written data;
    for (const Words& batching : batchings)
        for (const Words& model : models) {
            CAPTURE(batching.back());
            CAPTURE(model.back());
            const auto at = [&](std::int64_t size) {
                RunConfig config = data.config(
                    joined({batching, model, {"--device", "cuda", "--memory", "640MiB"}}));
                (config.batch.batch_tokens > 0 ? config.batch.batch_tokens
                                               : config.batch.batchsize) = size;
                return plan_run(config);
            };
            const plan::BatchSize size = at(2).size;
            CHECK(size.asked == 2);
            REQUIRE(size.fits > 0);
            REQUIRE(size.fits < size.max_tried);
            CHECK(at(size.fits).fits());
            CHECK_FALSE(at(size.fits + 1).fits());
            CHECK(at(size.fits + 1).size.fits == size.fits);
        }
}

TEST_CASE("parts are the buffers that a run has") {
    const auto run = plan_run(config_of({"-m", "gpt2", "--vocabulary", "1000", "--device", "cpu"}));
    const auto table = model::parameter_table(run.model);
    const auto weights = static_cast<std::int64_t>(table.flat_size());
    CHECK(run.parameters == table.count());
    CHECK(bytes_of(run, "weights, fp32") == 4 * weights);
    CHECK(bytes_of(run, "weights that compute") == 2 * weights);
    CHECK(bytes_of(run, "gradients, fp32") == 4 * weights);
    CHECK(bytes_of(run, "optimizer") == 8 * weights);
    CHECK(bytes_of(run, "copy of rank 0") == 12 * weights);
    CHECK(bytes_of(run, "activations") == run.batch.activations);
    CHECK(run.batch.shape.target_total == 64);
    CHECK(run.total_bytes() > 18 * weights + run.batch.activations);
    CHECK_FALSE(run.epoch);
    CHECK(run.host_bytes == 0);
    // Codes of a byte, and an fp32 scale for each 256 of them.
    const auto small = plan_run(
        config_of({"-m", "gpt2", "--vocabulary", "1000", "--device", "cpu", "--moments", "int8"}));
    CHECK(bytes_of(small, "optimizer, moments in int8") == 2 * weights + 2 * 4 * weights / 256);
    CHECK(bytes_of(small, "copy of rank 0") == 6 * weights + weights / 32);
}

TEST_CASE("cross-attention's gradients of biases have memory of their own where others lie there") {
    const auto bytes = [](const Words& more) {
        const Words words{"-m", "transformer/generator", "--vocabulary", "1000"};
        return bytes_of(plan_run(config_of(joined({words, more}))), "gradients of cross-attention");
    };
    constexpr std::int64_t both_layers = std::int64_t{2} * 2 * 32 * 4;
    CHECK(bytes({"--device", "cpu"}) == both_layers);
    CHECK(bytes({"--device", "cuda"}) == 0);
    CHECK(bytes({"--device", "cuda", "--distributed-world-size", "2", "--zero", "2"}) ==
          both_layers);
    CHECK(bytes({"-m", "gpt2", "--device", "cpu"}) == 0);
}

TEST_CASE("a rank that shares keeps a copy of its part alone for saving") {
    const Words four{
        "-m", "gpt2", "--vocabulary", "1000", "--device", "cpu", "--distributed-world-size", "4"};
    for (const char* stage : {"1", "2", "3"}) {
        const auto run = plan_run(config_of(joined({four, {"--zero", stage}})));
        const std::int64_t weights = bytes_of(run, "weights, fp32, of this rank's part");
        REQUIRE(weights > 0);
        CHECK(bytes_of(run, "copy of this rank's part") == 3 * weights);
        const auto waits =
            plan_run(config_of(joined({four, {"--zero", stage, "--async-save", "false"}})));
        CHECK(run.total_bytes() - waits.total_bytes() == 3 * weights);
    }
}

TEST_CASE("the row of a stage tells what a run at that stage takes") {
    const auto at = [](const char* stage) {
        return plan_run(config_of({"-m", "gpt2", "--vocabulary", "1000", "--device", "cpu", "-bs",
                                   "1", "--n-layers", "12", "--memory", "1GiB",
                                   "--distributed-world-size", "2", "--zero", stage}));
    };
    for (const plan::StageMemory& row : at("1").stages) {
        CAPTURE(row.stage);
        CHECK(row.total == at(std::to_string(row.stage).c_str()).total_bytes());
    }
}

// Every micro-batch but a step's first one adds, and its activations have memory of their own.
TEST_CASE("activations lie in gradients where a rank has one micro-batch in each step") {
    const auto activations = [](const Words& more) {
        const Words words{"-m",  "gpt2", "--vocabulary", "40", "--device", "cpu",
                          "-bs", "4",    "--n-layers",   "12"};
        return plan_run(config_of(joined({words, more}))).batch.activations;
    };
    const std::int64_t one = activations({}), several = activations({"--update-freq", "2"});
    CHECK(one < several);
    CHECK(activations({"--update-freq", "2", "--deterministic"}) == one);
    CHECK(activations({"--distributed-world-size", "2", "--logical-shards", "3"}) == several);
    CHECK(activations({"--distributed-world-size", "2", "--logical-shards", "1"}) == one);
    CHECK(activations({"--distributed-world-size", "2", "--zero", "2"}) == several);
}

TEST_CASE("validation counts where it takes more than training with the same batches") {
    // All that training keeps lies in gradients, and the logits of an evaluation do not.
    const auto run =
        plan_run(config_of({"-m", "gpt2", "--vocabulary", "9000", "--device", "cpu",
                            "--embedding-size", "256", "--n-layers", "12", "-bs", "1"}));
    const auto dry = model::make_dry_model(run.model, run.precision, run.device.kind);
    const auto bytes = [](std::size_t count) { return static_cast<std::int64_t>(count); };
    REQUIRE(dry->training_bytes(run.batch.shape) < dry->evaluation_bytes(run.batch.shape));
    CHECK(run.batch.activations == bytes(dry->evaluation_bytes(run.batch.shape)));
}

TEST_CASE("the size that fits is the same for any size asked for, and counts its own validation") {
    // Validation takes more than training with the same batches, as above.
    const auto at = [](std::int64_t size) {
        return plan_run(config_of({"-m", "gpt2", "--vocabulary", "9000", "--device", "cpu",
                                   "--embedding-size", "256", "--n-layers", "12", "--recompute",
                                   "none", "--memory", "256MiB", "-bs", std::to_string(size)}));
    };
    const std::int64_t fits = at(1).size.fits;
    REQUIRE(fits > 0);
    CHECK(at(fits).fits());
    CHECK_FALSE(at(fits + 1).fits());
    CHECK(at(50 * fits).size.fits == fits);
}

TEST_CASE("where evaluations alone are too large the verdict names their option") {
    const tests::ScratchFolder folder;
    tests::write_dataset(folder.path(), tests::random_shard(5, 700, 90),
                         tests::random_shard(6, 400, 60), 1);
    const auto planned = [&](const Words& more, std::int64_t memory) {
        const Words words{"-m",          "gpt2",     "-bs", "1",           "--data",
                          folder.path(), "--device", "cpu", "--recompute", "none"};
        RunConfig config = config_of(joined({words, more}));
        config.memory_bytes = memory;
        return plan_run(config);
    };
    const std::int64_t enough = planned({}, std::int64_t{1} << 40).total_bytes();
    CHECK(planned({}, enough).fits());
    const std::string verdict = plan::report_text(planned({"--eval-batchsize", "400"}, enough));
    CAPTURE(verdict);
    CHECK(verdict.find("take a smaller --eval-batchsize") != std::string::npos);
    CHECK(verdict.find("is safe") == std::string::npos);
}

TEST_CASE("evaluations count with their own rows, and not at all where there are none") {
    const tests::MemoryRows::Shard short_rows{{4, 4}, {5, 5}}, long_rows{{4, 4}, {20, 30}};
    using Rows = std::optional<tests::MemoryRows::Shard>;
    const auto planned = [](const Rows& valid, const Rows& test = {}) {
        const tests::ScratchFolder folder;
        tests::write_dataset(folder.path(), {{4, 4}, {5, 5}}, valid, 1, test);
        const RunConfig config =
            config_of({"-m", "gpt2", "--embedding-size", "256", "--n-layers", "12", "--device",
                       "cpu", "-bs", "1", "--data", folder.path()});
        return plan_run(config).batch;
    };
    const auto without = planned({}), with_short = planned(short_rows),
               with_long = planned(long_rows);
    CHECK(without.activations < with_short.activations);
    CHECK(with_short.activations < with_long.activations);
    CHECK(with_long.shape.target_total >= 50);
    CHECK(planned({}, long_rows).activations == with_long.activations);
    CHECK(planned(short_rows, long_rows).activations == with_long.activations);
}

TEST_CASE("NCCL's memory is that of every communicator of a rank") {
    const auto nccl = [](const Words& zero) {
        return bytes_of(
            plan_run(config_of(joined({{"-m", "gpt2", "--vocabulary", "1000", "-bs", "1",
                                        "--device", "cuda", "--distributed-world-size", "8"},
                                       zero}))),
            "NCCL");
    };
    const std::int64_t world = plan::nccl_bytes(8, 8);
    CHECK(nccl({}) == world);
    CHECK(nccl({"--zero", "1"}) == world);
    CHECK(nccl({"--zero", "1", "--zero-ranks", "4"}) ==
          world + plan::nccl_bytes(4, 4) + plan::nccl_bytes(2, 2));
}

TEST_CASE("what is sent is told of the stages that the run can have, as it is sent") {
    const auto planned = [](const Words& more) {
        return plan_run(config_of(joined(
            {{"-m", "gpt2", "--vocabulary", "1000", "-bs", "1", "--distributed-world-size", "4"},
             more})));
    };
    const auto gpus = planned({"--device", "cuda"}),
               staged = planned({"--device", "cuda", "--gpu-backend", "staged"});
    REQUIRE(gpus.stages.size() == 4);
    REQUIRE(staged.stages.size() == 4);
    CHECK(gpus.stages[1].sent * 8 == gpus.stages[0].sent * 6);
    CHECK(staged.stages[0].sent == gpus.stages[0].sent);
    CHECK(staged.stages[1].sent * 8 == gpus.stages[0].sent * 10);
    const auto fixed = planned({"--device", "cpu", "--deterministic", "--logical-shards", "12"});
    REQUIRE(fixed.stages.size() == 2);
    CHECK(fixed.stages[0].sent * 8 == gpus.stages[0].sent * 12);
    CHECK(fixed.stages[1].sent * 8 == gpus.stages[0].sent * 14);
}

TEST_CASE("on GPUs there are more parts, and checkpoints pass through the host's memory") {
    const Words words{"-m",       "gpt2", "--vocabulary", "1000",
                      "--device", "cuda", "--comm-dtype", "bf16"};
    const auto alone = plan_run(config_of(words));
    CHECK(bytes_of(alone, "conversion of gradients") == 0);
    CHECK(bytes_of(alone, "NCCL") == 0);
    CHECK(bytes_of(alone, "products' and attention's workspace") == 32 << 20);
    CHECK(bytes_of(alone, "micro-batches on their way") == 4 * 4096);
    CHECK(alone.host_bytes == bytes_of(alone, "weights, fp32") + bytes_of(alone, "optimizer"));
    CHECK(alone.fits() == false);  // 64 MiB hold no context
    CHECK(alone.size.fits == 0);
    const auto two = plan_run(config_of(joined({words, {"--distributed-world-size", "2"}})));
    CHECK(two.device.bytes == 64 << 20);
    // As many as the largest bucket has, which is the table.
    CHECK(bytes_of(two, "conversion of gradients") == 2 * 63 * 512);  // whole cells for each rank
    CHECK(bytes_of(alone, "rows of the tied table") == 0);
    // Half of them, and slots.
    CHECK(bytes_of(two, "rows of the tied table") == 4 * 500 * 32 + 4 * 8192);
    // 16 channels, one for each block that NCCL may use, three connections each, of 9,633,792
    // bytes; 32 MiB of NVLS for each rank of a host.
    const std::int64_t connection = 16 * 9'633'792, nvls = 32 << 20;
    CHECK(bytes_of(two, "NCCL") == 3 * connection + 2 * nvls);
    CHECK(two.certain_bytes() ==
          two.total_bytes() - bytes_of(two, "NCCL") - bytes_of(two, "CUDA's context and kernels"));
    const auto ranks = [&](const std::string& count, const Words& more = {}) {
        return bytes_of(
            plan_run(config_of(joined({words, {"--distributed-world-size", count}, more}))),
            "NCCL");
    };
    CHECK(ranks("8") == 3 * connection + 8 * nvls);
    CHECK(ranks("64") == 5 * connection + 8 * nvls);  // hosts of eight
    CHECK(ranks("8", {"--gpu-backend", "staged"}) == 0);
    CHECK(plan::nccl_bytes(2, 1) == 2 * connection);
    CHECK(plan::nccl_bytes(1, 1) == 0);
}

TEST_CASE("widths at which tensor cores are slow are named") {
    const Words odd{"--vocabulary", "100", "--embedding-size", "36", "--device", "cuda"};
    const auto run = plan_run(config_of(odd));
    REQUIRE(!run.slow_shapes.empty());
    CHECK(run.slow_shapes.front().what.find("--embedding-size 36") != std::string::npos);
    CHECK(plan_run(config_of(joined({odd, {"--precision", "fp32"}}))).slow_shapes.empty());
}

TEST_CASE("evaluation's own batches count where they are larger") {
    const Written data;
    const auto small = plan_run(data.config({"-bs", "1", "--device", "cpu"}));
    const auto large =
        plan_run(data.config({"-bs", "1", "--eval-batchsize", "30", "--device", "cpu"}));
    CHECK(large.batch.shape.sequences == 30);
    CHECK(large.batch.activations > small.batch.activations);
}

TEST_CASE("what cannot be planned is refused") {
    const tests::ScratchFolder empty;
    tests::write_dataset(empty.path(), {}, tests::random_shard(6, 3, 4), 1);
    CHECK_THROWS_WITH_AS(plan_run(config_of({"--device", "cpu", "--data", empty.path()})),
                         doctest::Contains("no rows"), Error);
    const auto refused = [](const Words& more, const char* word) {
        CHECK_THROWS_WITH_AS(plan_run(config_of(more)), doctest::Contains(word), Error);
    };
    refused({"--device", "cpu"}, "--vocabulary");
    refused({"--device", "cpu", "--vocabulary", "9", "--precision", "fp16"}, "fp16");
    refused({"--device", "cpu", "--vocabulary", "9", "--n-heads", "5"}, "--n-heads");
    refused({"--device", "cpu", "--data", "/nowhere"}, "/nowhere");
}

TEST_CASE("a run that goes on with more ranks than lanes has a plan at every stage") {
    const auto planned = [](const char* lanes, const Words& more) {
        return plan_run(
            config_of(joined({{"-m", "gpt2", "--device", "cpu", "--vocabulary", "1000", "-bs", "1",
                               "--distributed-world-size", "5", "--logical-shards", lanes},
                              more})));
    };
    for (const Words& more : {Words{}, Words{"--deterministic"}, Words{"--zero", "1"},
                              Words{"--zero", "2"}, Words{"--zero", "3"}}) {
        const auto few = planned("4", more), one_each = planned("5", more);
        CHECK(few.lanes_of_rank == 1);
        CHECK(few.sent.total() > 0);
        // In a fixed order, rank 0 keeps one matrix less for each lane less.
        const char* const lanes = "gradients of single lanes, fp32";
        CHECK(bytes_of(few, lanes) <= bytes_of(one_each, lanes));
        CHECK(few.total_bytes() - bytes_of(few, lanes) ==
              one_each.total_bytes() - bytes_of(one_each, lanes));
    }
}
