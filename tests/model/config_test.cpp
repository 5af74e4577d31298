// SPDX-License-Identifier: Apache-2.0
#include "model/config.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "model/architectures.hpp"
#include "model/blocks/layout.hpp"
#include "model/config_json.hpp"
#include "model/dropout_sites.hpp"
#include "model/parts.hpp"
#include "runtime/core/error.hpp"

using namespace lockstep;
using model::ModelConfig;

namespace {

ModelConfig small() {
    ModelConfig config;
    config.vocabulary = 37;
    config.embedding_size = 16;
    config.ffn_size = 32;
    return config;
}

std::string refusal(const ModelConfig& config) {
    try {
        model::validate(config);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a config that cannot be a model is refused in one line that names the option") {
    CHECK(refusal(small()) == "");
    const auto refused = [](auto change) {
        auto config = small();
        change(config);
        return refusal(config);
    };
    CHECK(refused([](auto& c) { c.heads = 3; }) ==
          "--embedding-size 16 is not a multiple of --n-heads 3: give sizes that divide");
    CHECK(refused([](auto& c) { c.heads = 0; }) == "--n-heads 0: give at least 1");
    CHECK(refused([](auto& c) { c.ffn_size = 0; }) == "--ffn-size 0: give at least 1");
    CHECK(refused([](auto& c) { c.encoder_layers = -1; }) ==
          "--n-encoder-layers -1: give at least 1");
    CHECK(refused([](auto& c) { c.n_positions = 0; }) == "--n-positions 0: give at least 1");
    CHECK(refused([](auto& c) { c.vocabulary = 0; }).find("dictionary") != std::string::npos);
    CHECK(refused([](auto& c) { c.dropout = 1; }).find("--dropout") == 0);
    CHECK(refused([](auto& c) { c.label_smoothing = -0.1f; }).find("--label-smoothing") == 0);
    CHECK(refused([](auto& c) { c.excluded_token = 37; }).find("excluded_token") == 0);
    CHECK(refused([](auto& c) {
              c.excluded_token = 1;
              c.label_smoothing = 0.1f;
          }).find("--label-smoothing") == 0);
    CHECK(refused([](auto& c) { c.kind = model::Kind::gpt2; }).find("gpt2") != std::string::npos);
}

TEST_CASE("config.json gives the same config back") {
    auto config = small();
    config.variant = model::Variant::xlm;
    config.activation = kernels::Activation::gelu_erf;
    config.dropout = 0.1f;
    const std::string text = model::to_json(config);
    CHECK(text.find("\"dropout\": 0.1,") != std::string::npos);
    CHECK(model::config_from_json(text, "config.json") == config);
    CHECK(text.find("excluded_token") == std::string::npos);
    config.excluded_token = 1;
    CHECK(model::config_from_json(model::to_json(config), "config.json") == config);
    auto gpt2 = model::gpt2_config();
    gpt2.vocabulary = 100;
    CHECK(model::config_from_json(model::to_json(gpt2), "config.json") == gpt2);
}

TEST_CASE("numbers that make no sense are told as a person writes them") {
    auto config = small();
    config.kind = model::Kind::llama;
    model::apply_fixed(config);
    config.parts.rotary.theta = 0;
    CHECK(
        refusal(config).starts_with("rotary positions with theta 0 (--rope-theta) and factor 1:"));
    config.parts.rotary.theta = 10000;
    config.parts.norm_epsilon = 1e30F;
    CHECK(refusal(config).starts_with("a norm's epsilon of 1e+30 (--norm-epsilon): it is above"));
    config = small();
    config.z_loss = 1;
    CHECK(refusal(config).starts_with("--z-loss 1: give a number from 0 to below 1"));
    config.z_loss = 0;
    config.dropout = -1e-30F;
    CHECK(refusal(config).starts_with("--dropout -1e-30: give a share from 0 to below 1"));
}

TEST_CASE("a damaged config.json is refused by its name and the member's") {
    const auto refused = [](const std::string& from, const std::string& to) -> std::string {
        std::string text = model::to_json(small());
        text.replace(text.find(from), from.size(), to);
        try {
            model::config_from_json(text, "m/config.json");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::config);
            return error.what();
        }
        return "";
    };
    CHECK(refused("aiayn", "postnorm").find("m/config.json: \"variant\" is not one of aiayn, ") ==
          0);
    CHECK(refused("\"n_heads\"", "\"heads\"").find("\"n_heads\" is missing") != std::string::npos);
    CHECK(refused("\"n_heads\": 2", "\"n_heads\": 3").find("m/config.json: --embedding-size") == 0);
    CHECK(refused("\"n_heads\": 2", "\"n_heads\": \"2\"").find("whole number") !=
          std::string::npos);
    // In their types they would be -1, which means none, and minus infinity.
    CHECK(refused("\"n_heads\"", "\"excluded_token\": 18446744073709551615, \"n_heads\"")
              .find("\"excluded_token\" is too large") != std::string::npos);
    CHECK(refused("\"relu_dropout\": 0", "\"relu_dropout\": -1e300")
              .find("\"relu_dropout\" is too large") != std::string::npos);
    CHECK(refused("{", "[").find("not a JSON object") != std::string::npos);
}

TEST_CASE("every family has one row, whose fixed members are those of a valid config") {
    for (const model::Architecture& family : model::architectures()) {
        CAPTURE(family.name);
        CHECK(&model::architecture(family.kind) == &family);
        auto config = small();
        config.kind = family.kind;
        model::apply_fixed(config);
        CHECK(refusal(config) == "");
        CHECK(model::config_from_json(model::to_json(config), "config.json") == config);
        const auto table = model::parameter_table(config);
        const bool own_head = config.parts.own_head == model::Has::yes;
        CHECK(std::ranges::count(table.all(), train::Tied::yes, &train::Parameter::tied) ==
              (own_head ? 0 : 1));
        CHECK((table.find("lm_head.weight") != nullptr) == own_head);
        CHECK(model::has_encoder(config) ==
              (table.find("encoder.layers.0.norm1.weight") != nullptr));
    }
    CHECK(model::architecture(model::Kind::gpt2).name == std::string("gpt2"));
}

TEST_CASE("a variant is a name for places of norms, and each stack has the norms that it says") {
    using model::EmbeddingNorm;
    using model::Variant;
    const auto norms_of = [](Variant variant) {
        auto config = small();
        config.variant = variant;
        return model::norms(config);
    };
    CHECK(norms_of(Variant::aiayn) == model::Norms{});
    CHECK(norms_of(Variant::prelayernorm) ==
          model::Norms{.position = model::NormPosition::before_branch});
    CHECK(norms_of(Variant::xlm) ==
          model::Norms{.encoder_embedding = EmbeddingNorm::after_positions,
                       .decoder_embedding = EmbeddingNorm::before_positions});
    CHECK(norms_of(Variant::bart) ==
          model::Norms{.encoder_embedding = EmbeddingNorm::after_positions,
                       .decoder_embedding = EmbeddingNorm::after_positions});
    for (const Variant variant :
         {Variant::aiayn, Variant::prelayernorm, Variant::xlm, Variant::bart}) {
        auto config = small();
        config.variant = variant;
        const auto table = model::parameter_table(config);
        for (const std::string stack : {"encoder", "decoder"}) {
            CAPTURE(stack);
            const auto* norm = table.find(stack + ".norm_embeddings.weight");
            REQUIRE((norm != nullptr) == (variant != Variant::aiayn));
            if (norm == nullptr) continue;
            // Before branches, the last layer runs it.
            const auto* last = table.find(stack + ".layers.1.ffn.lin2.weight");
            CHECK((norm->block == last->block) == (variant == Variant::prelayernorm));
        }
    }
}

TEST_CASE("the matrices of attention have the widths of its heads") {
    auto config = small();
    config.heads = 4;
    const auto widths = model::widths(config);
    CHECK(widths.head_dim == 4);
    CHECK(widths.q() == 16);
    CHECK(widths.kv() == 16);
    CHECK(widths.key_value() == 32);
    CHECK(widths.qkv() == 48);
    using Shape = std::vector<std::int64_t>;
    const auto table = model::parameter_table(config);
    const auto shape = [&](const char* name) {
        return table.find("decoder.layers.0." + std::string(name))->shape;
    };
    CHECK(shape("self_attention.qkv.weight") == Shape{48, 16});
    CHECK(shape("self_attention.out.weight") == Shape{16, 16});
    CHECK(shape("encoder_attention.q.weight") == Shape{16, 16});
    CHECK(shape("encoder_attention.kv.weight") == Shape{32, 16});
    CHECK(shape("encoder_attention.kv.bias") == Shape{32});
}

TEST_CASE("the table lists every parameter once, by blocks, the tied one last") {
    const auto table = model::parameter_table(small());
    const std::int64_t d = 16, f = 32, v = 37;
    const std::int64_t attention = 4 * (d * d + d), ffn = 2 * d * f + d + f, norm = 2 * d;
    CHECK(table.count() ==
          v * d + 2 * (attention + ffn + 2 * norm) + 2 * (2 * attention + ffn + 3 * norm));
    CHECK(table.all().front().name == "decoder.layers.1.norm3.bias");
    CHECK(table.all().back().name == "embeddings.weight");
    CHECK(table.find("decoder.layers.0.encoder_attention.kv.weight")->shape ==
          std::vector<std::int64_t>{32, 16});
    CHECK(table.find("encoder.layers.1.attention.qkv.bias")->decay == train::WeightDecay::skip);
    CHECK(table.find("encoder.norm_embeddings.weight") == nullptr);
    CHECK(table.flat_size() % 256 == 0);
}

TEST_CASE("keys and values of the encoder's output are one matrix for all layers, in their order") {
    auto config = small();
    config.embedding_size = 128;  // the biases of a layer are as long as a grain
    const auto table = model::parameter_table(config);
    for (const std::string kind : {"bias", "weight"}) {
        const auto* first = table.find("decoder.layers.0.encoder_attention.kv." + kind);
        const auto* second = table.find("decoder.layers.1.encoder_attention.kv." + kind);
        CHECK(first->offset + first->count == second->offset);
        CHECK(first->block == second->block);
        CHECK(first->block == table.find("decoder.layers.0.norm1.bias")->block + 1);
    }
}

TEST_CASE("no two coordinates of dropout share a number") {
    using enum model::DropoutSite;
    using enum model::StackKind;
    CHECK(model::dropout_site(encoder, 0, embedding) == 0);
    CHECK(model::dropout_site(encoder, 0, self_output) ==
          model::dropout_site(encoder, 0, self_probabilities) + model::max_heads);
    CHECK(model::dropout_site(encoder, 1, embedding) >
          model::dropout_site(encoder, 0, ffn_output) + model::max_heads - 1);
    CHECK(model::dropout_site(decoder, 0, embedding) >
          model::dropout_site(encoder, model::max_layers - 1, ffn_output));
}
