// SPDX-License-Identifier: Apache-2.0
// Micro-batches that overwrite gradients keep activations in their memory; those that add to
// gradients do not, so the two are compared.
#include "model/blocks/lent_gradients.hpp"

#include <doctest/doctest.h>

#include <algorithm>

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

// Counts elements between parameters that are not zeros when the sink is told of their range.
class GapCheck final : public train::GradientSink {
public:
    explicit GapCheck(const train::ParameterStore<HostSpace>& store) : store_(store) {}

    void ready(std::size_t first, std::size_t count) override {
        std::size_t end = first;  // of the parameter before
        for (const train::Parameter& parameter : store_.table().all()) {
            if (parameter.offset < first || parameter.offset >= first + count) continue;
            check(end, parameter.offset);
            end = parameter.offset + parameter.count;
        }
        check(end, first + count);
    }

    std::size_t checked = 0, wrong = 0;

private:
    void check(std::size_t from, std::size_t to) {
        checked += to - from;
        for (std::size_t i = from; i < to; ++i) wrong += store_.gradient()[i] != 0 ? 1 : 0;
    }

    const train::ParameterStore<HostSpace>& store_;
};

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

TEST_CASE("gaps between gradients are zeros when the sink is told of them") {
    for (const std::string& name : tests::golden_cases()) {
        CAPTURE(name);
        Golden golden(name);
        ModelUnderTest test(with_layers(golden.config(), 3));
        std::fill_n(test.store.gradient().begin(), test.table.all().back().offset, 1.0f);
        GapCheck sink(test.store);
        kernels::LossSums sums;
        const auto batch = tests::with_filler(golden.batch(""), 30);
        test.model->upload(batch);
        test.model->train(&test.state, &sums, kernels::Into::overwrite, sink);
        CHECK(sink.checked > 0);
        CHECK(sink.wrong == 0);
    }
}

TEST_CASE("a deep model with few tokens takes less than a third beside the gradients") {
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
