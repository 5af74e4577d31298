// SPDX-License-Identifier: Apache-2.0
// Compares a dry run's memory of a step with the memory of the step itself.
#include "model/devices/dry_model.hpp"

#include <doctest/doctest.h>

#include "tests/model/batch_parts.hpp"
#include "tests/model/golden_checks.hpp"
#include "tests/model/model_under_test.hpp"

using namespace lockstep;
using model::DeviceKind;
using tests::Golden;
using tests::ModelUnderTest;

namespace {

// These are more tokens than fit the memory that an arena takes at first.
constexpr std::size_t very_many = 100'001;

void check_same(const model::ModelConfig& config, train::Precision precision,
                const train::Batch& given, const model::RecomputePlan& plan = {}) {
    const train::Batch batch = tests::with_following_labels(given);
    CAPTURE(train::name(precision));
    const auto dry = model::make_dry_model(config, precision, DeviceKind::cpu, plan);
    const train::BatchShape shape = tests::shape_of(batch);
    ModelUnderTest trained(config, precision, plan);
    trained.train(batch, kernels::Into::overwrite);
    CHECK(dry->training_bytes(shape) == trained.model->peak_activation_bytes());
    trained.train(batch, kernels::Into::add);
    CHECK(dry->training_bytes(shape, kernels::Into::add) == trained.model->peak_activation_bytes());
    ModelUnderTest evaluated(config, precision);
    evaluated.evaluate(batch);
    CHECK(dry->evaluation_bytes(shape) == evaluated.model->peak_activation_bytes());
}

}  // namespace

TEST_CASE("a dry run takes what a step takes, to the byte") {
    for (const std::string& name : tests::golden_cases()) {
        CAPTURE(name);
        Golden golden(name);
        model::ModelConfig dropping = golden.config();
        dropping.dropout = dropping.attention_dropout = dropping.relu_dropout = 0.1f;
        const train::Batch batch = golden.batch("");
        for (const auto precision : {train::Precision::fp32, train::Precision::bf16}) {
            check_same(golden.config(), precision, batch);
            check_same(dropping, precision, batch);
            check_same(golden.config(), precision, tests::with_filler(batch, 13));
            check_same(dropping, precision, tests::one_row(batch, 1));
            using enum model::Recompute;
            for (const model::RecomputePlan& plan :
                 {model::RecomputePlan{ffn}, {layer}, {layer, 1}}) {
                CAPTURE(model::name(plan));
                check_same(dropping, precision, tests::with_filler(batch, 300), plan);
            }
        }
    }
}

TEST_CASE("a dry run knows chunks of logits, and steps beyond an arena's first chunk") {
    for (const std::string name : {"prelayernorm_gelu_learned", "gpt2"}) {
        CAPTURE(name);
        Golden golden(name);
        const train::Batch batch = golden.batch("");
        check_same(golden.config(), train::Precision::bf16, tests::with_filler(batch, 700));
        check_same(golden.config(), train::Precision::fp32, tests::with_filler(batch, very_many));
    }
}

TEST_CASE("a dry run counts the products of linear layers, and those that are calculated again") {
    const model::ModelConfig config = Golden("gpt2").config();
    const std::int64_t d = config.embedding_size, ffn = config.ffn_size,
                       layers = config.decoder_layers, tokens = 300;
    const auto counted = [&](const model::RecomputePlan& plan) {
        return model::make_dry_model(config, train::Precision::bf16, DeviceKind::gpu, plan)
            ->multiply_adds({0, tokens, tokens, 0, 1});
    };
    const double all = counted({});
    const std::int64_t layer = 4 * d * d + 2 * d * ffn;  // forward, of a token
    const auto number = [](std::int64_t products) { return static_cast<double>(products); };
    CHECK(all == number(3 * tokens * (layers * layer + config.vocabulary * d)));
    CHECK(counted({model::Recompute::ffn}) == all + number(tokens * layers * d * ffn));
    CHECK(counted({model::Recompute::layer}) == all + number(tokens * layers * (layer - d * ffn)));
    CHECK(counted({model::Recompute::layer, 1}) == all + number(tokens * (layer - d * ffn)));
}

TEST_CASE("a step for which memory was reserved does not move it") {
    Golden golden("gpt2");
    const train::Batch batch = tests::with_filler(golden.batch(""), very_many);
    const auto precision = train::Precision::fp32;
    const auto dry = model::make_dry_model(golden.config(), precision, DeviceKind::cpu);
    ModelUnderTest reserved(golden.config(), precision), grown(golden.config(), precision);
    reserved.model->reserve(dry->training_bytes(tests::shape_of(batch)));
    reserved.train(batch, kernels::Into::overwrite);
    CHECK(reserved.model->upload(batch).moves == 0);
    grown.train(batch, kernels::Into::overwrite);
    CHECK(grown.model->upload(batch).moves == 1);
}

TEST_CASE("one model tells of many shapes, whichever came before") {
    const auto dry =
        model::make_dry_model(Golden("gpt2").config(), train::Precision::bf16, DeviceKind::gpu);
    const train::BatchShape small{0, 64, 16, 0, 4}, large{0, 4096, 1024, 0, 4};
    const std::size_t bytes = dry->training_bytes(small);
    CHECK(dry->training_bytes(large) > 32 * bytes);
    CHECK(dry->training_bytes(small) == bytes);
    CHECK(dry->evaluation_bytes(large) < dry->training_bytes(large));
}

TEST_CASE("the scratch memory of a GPU's kernels is cuBLASLt's, or more for attention's backward") {
    auto config = Golden("gpt2").config();
    config.embedding_size = 768;
    config.heads = 12;
    const train::BatchShape small{0, 64, 16, 0, 4}, large{0, 65'536, 64, 0, 1024};
    const auto scratch = [&](train::Precision precision, DeviceKind device,
                             const train::BatchShape& shape) {
        return model::make_dry_model(config, precision, device)->scratch_bytes(shape);
    };
    CHECK(scratch(train::Precision::bf16, DeviceKind::cpu, large) == 0);
    CHECK(scratch(train::Precision::bf16, DeviceKind::gpu, small) == 32 << 20);
    CHECK(scratch(train::Precision::fp32, DeviceKind::gpu, large) == 32 << 20);
    // A head has 1,024 + 64 tiles of keys by 16 of queries, 8 KiB each: three heads fit into 512
    // MiB.
    CHECK(scratch(train::Precision::bf16, DeviceKind::gpu, large) ==
          3 * 1088 * 16 * 8192 + 4 * 12 * 65'536);
    // Tensor cores do not support heads of 75 columns, and only their kernels keep the tiles.
    config.embedding_size = 12 * 75;
    CHECK(scratch(train::Precision::bf16, DeviceKind::gpu, large) == 32 << 20);
}
