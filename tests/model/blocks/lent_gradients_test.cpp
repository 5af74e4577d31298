// SPDX-License-Identifier: Apache-2.0
// Micro-batches that overwrite gradients keep activations in their memory; those that add to
// gradients do not, so the two are compared.
#include "model/blocks/lent_gradients.hpp"

#include <doctest/doctest.h>

#include "tests/model/batch_parts.hpp"
#include "tests/model/golden_checks.hpp"
#include "tests/model/model_under_test.hpp"

using namespace lockstep;
using model::Recompute;
using model::RecomputePlan;
using tests::Golden;
using tests::ModelUnderTest;

namespace {

struct Trained {
    std::vector<float> gradients;  // with the gaps between them
    double loss;
    std::size_t peak;
};

model::ModelConfig with_layers(model::ModelConfig config, std::int64_t layers) {
    config = tests::with_dropout(config);
    config.encoder_layers = config.encoder_layers > 0 ? layers : 0;
    config.decoder_layers = layers;
    return config;
}

Trained trained(const model::ModelConfig& config, train::Precision precision,
                const RecomputePlan& plan, const train::Batch& batch, kernels::Into into) {
    ModelUnderTest test(config, precision, plan);
    if (into == kernels::Into::overwrite) tests::spoil(test.table, test.store.gradient());
    const kernels::LossSums sums = test.train(batch, into);
    const auto gradients = test.store.gradient();
    return {{gradients.begin(), gradients.end()}, sums.loss, test.model->peak_activation_bytes()};
}

std::size_t lent_bytes(const model::ModelConfig& config) {
    return model::parameter_table(config).all().back().offset * sizeof(float);
}

}  // namespace

TEST_CASE("activations in the memory of gradients change no bit, and gaps are zeros afterwards") {
    for (const std::string& name : tests::golden_cases()) {
        CAPTURE(name);
        Golden golden(name);
        const auto config = with_layers(golden.config(), 3);
        for (const auto precision : {train::Precision::fp32, train::Precision::bf16})
            for (const RecomputePlan& plan :
                 {RecomputePlan{}, {Recompute::ffn}, {Recompute::layer, 2}})
                for (const std::int64_t filler : {0, 3, 30, 300}) {
                    CAPTURE(train::name(precision));
                    CAPTURE(model::name(plan));
                    CAPTURE(filler);
                    const auto batch = tests::with_filler(golden.batch(""), filler);
                    const Trained lent =
                        trained(config, precision, plan, batch, kernels::Into::overwrite);
                    const Trained apart =
                        trained(config, precision, plan, batch, kernels::Into::add);
                    CHECK(lent.loss == apart.loss);
                    CHECK(lent.gradients == apart.gradients);
                    CHECK(lent.peak < apart.peak);
                    CHECK(lent.peak + lent_bytes(config) >= apart.peak);
                }
    }
}

TEST_CASE("a deep model with few tokens keeps hardly more than one layer beside the gradients") {
    Golden golden("gpt2");
    auto config = golden.config();
    config.decoder_layers = 12;
    config.vocabulary = 40;
    const auto batch = tests::with_filler(golden.batch(""), 8);
    const auto peak = [&](kernels::Into into) {
        return trained(config, train::Precision::fp32, {}, batch, into).peak;
    };
    CHECK(peak(kernels::Into::overwrite) < peak(kernels::Into::add) / 3);
}

TEST_CASE("a micro-batch that adds after one that overwrote has memory of its own") {
    Golden golden("prelayernorm_gelu_learned");
    ModelUnderTest test(with_layers(golden.config(), 3));
    const auto batch = golden.batch("");
    (void)test.train(batch, kernels::Into::overwrite);
    const std::vector<float> once(test.store.gradient().begin(), test.store.gradient().end());
    (void)test.train(batch, kernels::Into::add);
    for (std::size_t i = 0; i < once.size(); ++i)
        CHECK(test.store.gradient()[i] == doctest::Approx(2 * once[i]).epsilon(1e-5));
}
