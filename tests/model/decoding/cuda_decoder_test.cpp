// SPDX-License-Identifier: Apache-2.0
// Decoding on a GPU gives the CPU's scores and replies.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model/decoding/generation.hpp"
#include "tests/model/device_run.hpp"

using namespace lockstep;
using namespace lockstep::model;

namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int32_t start_token = 1, end_token = 2;
const std::vector<Tokens> contexts{{3, 4, 5, 6, 7}, {8}, {9, 10, 3, 3, 0, 7, 4, 9}};

std::unique_ptr<Model> on_cpu(const ModelConfig& config) {
    auto model = make_cpu_model(config, train::Precision::fp32, 1);
    tests::spread_weights(*model);
    return model;
}

std::unique_ptr<Model> on_gpu(const ModelConfig& config, train::Precision precision) {
    auto model = make_cuda_model(config, precision, {});
    tests::spread_weights(*model);
    return model;
}

// Decodes two slots for each context, which diverge and swap, and returns the largest difference of
// scores.
double worst_score(IncrementalDecoder& expected, IncrementalDecoder& decoder) {
    constexpr int width = 2, steps = 5;
    CHECK(expected.start(contexts, width, steps) == decoder.start(contexts, width, steps));
    double worst = 0;
    for (int step = 0; step < steps; ++step) {
        const Tokens slots = step == 2 ? Tokens{0, 1, 5} : Tokens{0, 1, 2, 3, 4, 5};
        Tokens fed;
        for (const std::int32_t slot : slots)
            fed.push_back(step == 0 ? start_token : 3 + (slot + step) % 7);
        std::vector<float> a, b;
        expected.step(slots, fed, a);
        decoder.step(slots, fed, b);
        REQUIRE(a.size() == b.size());
        for (std::size_t i = 0; i < a.size(); ++i)
            worst = std::max<double>(worst, std::abs(a[i] - b[i]));
        for (IncrementalDecoder* each : {&expected, &decoder}) each->reorder({1, 1, 3, 2, 4, 5});
    }
    return worst;
}

}  // namespace

TEST_CASE("a GPU's scores are the CPU's, step by step") {
    for (const Kind kind : {Kind::generator, Kind::gpt2}) {
        const auto config = tests::toy_config(kind);
        const auto cpu = on_cpu(config);
        const auto worst = [&](train::Precision precision) {
            return worst_score(cpu->decoder(), on_gpu(config, precision)->decoder());
        };
        CHECK(worst(train::Precision::fp32) < 2e-5);
        CHECK(worst(train::Precision::bf16) < 0.4);
        CHECK(worst(train::Precision::fp16) < 0.05);
    }
}

TEST_CASE("a GPU's replies are the CPU's") {
    for (const Kind kind : {Kind::generator, Kind::gpt2}) {
        const auto config = tests::toy_config(kind);
        const auto cpu = on_cpu(config), gpu = on_gpu(config, train::Precision::fp32);
        for (const Inference inference : {Inference::greedy, Inference::beam, Inference::nucleus}) {
            GenerationOptions options;
            options.inference = inference;
            options.beam_size = inference == Inference::greedy ? 1 : 2;
            options.max_length = 6;
            const auto reply = [&](IncrementalDecoder& decoder) {
                return generate(decoder, contexts, {0, 1, 2}, options, {start_token, {end_token}});
            };
            const auto a = reply(cpu->decoder()), b = reply(gpu->decoder());
            for (std::size_t i = 0; i < contexts.size(); ++i) {
                CHECK(a[i].tokens == b[i].tokens);
                CHECK(a[i].score == doctest::Approx(b[i].score).epsilon(1e-4));
            }
        }
    }
}
