// SPDX-License-Identifier: Apache-2.0
#include "model/initialize.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model/blocks/layout.hpp"
#include "model/blocks/weights.hpp"

using namespace lockstep;

namespace {

struct Weights {
    Weights(const model::ModelConfig& config, std::uint64_t seed)
        : table(model::parameter_table(config)), values(table.flat_size()) {
        model::initial_weights(table, seed, view_of(values));
    }

    HostView<const float> of(const std::string& name) const {
        const train::Parameter& p = *table.find(name);
        return HostView<const float>(values.data(), values.size()).subview(p.offset, p.count);
    }
    double deviation(const std::string& name) const {
        double square = 0;
        for (const float value : of(name)) square += std::pow(value, 2);
        return std::sqrt(square / static_cast<double>(of(name).size()));
    }
    double largest(const std::string& name) const {
        double most = 0;
        for (const float value : of(name)) most = std::max(most, std::abs(double{value}));
        return most;
    }

    train::ParameterTable table;
    std::vector<float> values;
};

model::ModelConfig sized(model::ModelConfig config) {
    config.vocabulary = 500;
    config.embedding_size = 64;
    config.ffn_size = 128;
    config.n_positions = 100;
    return config;
}

bool all_are(HostView<const float> values, float value) {
    return std::ranges::all_of(values, [value](float v) { return v == value; });
}

}  // namespace

TEST_CASE("a generator starts from ParlAI's distributions") {
    auto config = sized({});
    config.positions = model::Positions::learned;
    const Weights w(config, 1);
    CHECK(w.deviation("embeddings.weight") == doctest::Approx(1 / 8.0).epsilon(0.02));
    CHECK(all_are(w.of("embeddings.weight").subview(0, 64), 0));
    CHECK(w.deviation("encoder.position_embeddings.weight") ==
          doctest::Approx(0.125).epsilon(0.03));
    CHECK(w.deviation("encoder.layers.0.attention.qkv.weight") ==
          doctest::Approx(std::sqrt(2.0 / 128)).epsilon(0.03));
    const double bound = std::sqrt(6.0 / (64 + 128));
    CHECK(w.largest("decoder.layers.1.ffn.lin1.weight") == doctest::Approx(bound).epsilon(0.01));
    CHECK(w.deviation("decoder.layers.1.ffn.lin1.weight") ==
          doctest::Approx(bound / std::sqrt(3.0)).epsilon(0.03));
    CHECK(all_are(w.of("decoder.layers.1.norm2.weight"), 1));
    CHECK(all_are(w.of("decoder.layers.1.norm2.bias"), 0));
    CHECK(all_are(w.of("decoder.layers.1.self_attention.qkv.bias"), 0));
}

TEST_CASE("gpt2 starts from GPT-2's distributions") {
    const Weights w(sized(model::gpt2_config()), 1);
    CHECK(w.deviation("embeddings.weight") == doctest::Approx(0.02).epsilon(0.02));
    CHECK(w.deviation("decoder.layers.0.ffn.lin1.weight") == doctest::Approx(0.02).epsilon(0.03));
    CHECK(w.deviation("decoder.layers.0.ffn.lin2.weight") == doctest::Approx(0.01).epsilon(0.03));
    CHECK(w.deviation("decoder.layers.1.self_attention.out.weight") ==
          doctest::Approx(0.01).epsilon(0.03));
    CHECK(all_are(w.of("decoder.norm_embeddings.weight"), 1));
}

TEST_CASE("initial weights are a function of the seed, and of the parameter's name alone") {
    auto config = sized({});
    const Weights a(config, 7), b(config, 7), c(config, 8);
    CHECK(a.values == b.values);
    CHECK(a.values != c.values);
    config.decoder_layers = 3;
    const Weights deeper(config, 7);
    CHECK(std::ranges::equal(a.of("decoder.layers.0.ffn.lin1.weight"),
                             deeper.of("decoder.layers.0.ffn.lin1.weight")));
    CHECK(!std::ranges::equal(a.of("decoder.layers.0.ffn.lin1.weight"),
                              a.of("decoder.layers.1.ffn.lin1.weight")));
}

TEST_CASE("sinusoidal positions are ParlAI's") {
    const auto codes = model::sinusoidal_positions(3, 4);
    const std::vector<double> expected{0,
                                       1,
                                       0,
                                       1,
                                       std::sin(1),
                                       std::cos(1),
                                       std::sin(0.01),
                                       std::cos(0.01),
                                       std::sin(2),
                                       std::cos(2),
                                       std::sin(0.02),
                                       std::cos(0.02)};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(codes[i] == doctest::Approx(expected[i]));
    }
}
