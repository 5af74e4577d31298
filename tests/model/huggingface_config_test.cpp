// SPDX-License-Identifier: Apache-2.0
#include "model/huggingface_config.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/architectures.hpp"
#include "model/config_json.hpp"
#include "model/parameter_rows.hpp"
#include "model/parts.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "tests/model/hub_configs.hpp"

using namespace lockstep;
using namespace lockstep::tests::hub_configs;
using nlohmann::json;

namespace {

void refused(const json& config, std::initializer_list<const char*> parts) {
    std::string line;
    try {
        read(config);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        line = error.what();
    }
    CAPTURE(line);
    CHECK(line.starts_with("m/config.json: "));
    CHECK(line.find('\n') == std::string::npos);
    for (const char* const part : parts) CHECK(line.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("a window that is as long as the longest row is none") {
    const auto window_of = [](const std::string& window) {
        return model::config_from_huggingface(
                   R"({"model_type": "mistral", "rope_theta": 1e4, )"
                   R"("max_position_embeddings": 64, "sliding_window": )" +
                       window + "}",
                   "config.json")
            .parts.window;
    };
    CHECK(window_of("63") == 63);
    CHECK(window_of("64") == 0);
    CHECK(window_of("4294967304") == 0);  // 8 more than 32 bits hold
    CHECK(window_of("null") == 0);
}

TEST_CASE("configs of known models have the parts of their families") {
    const auto one = read(llama());
    CHECK(one.kind == model::Kind::llama);
    CHECK(one.embedding_size == 2048);
    CHECK(one.ffn_size == 8192);
    CHECK(one.n_positions == 131072);
    CHECK(one.parts.norm == kernels::NormKind::rms);
    CHECK(one.parts.norm_epsilon == 1e-5f);
    CHECK(one.parts.own_head == model::Has::no);
    CHECK(model::widths(one).kv() == 512);
    CHECK(one.parts.rotary.scaling == model::RotaryScaling::llama3);
    CHECK(one.parts.rotary.theta == 500000.0f);

    const auto two = read(qwen3());
    CHECK(model::widths(two).q() == 2048);
    CHECK(two.parts.head_norms == model::Has::yes);
    CHECK(two.parts.qkv_bias == model::Has::no);
    CHECK(two.parts.window == 0);

    const auto three = read(mistral());
    CHECK(three.parts.window == 4096);
    CHECK(three.parts.own_head == model::Has::yes);
    CHECK(model::widths(three).head_dim == 128);
    for (const auto& config : {one, two, three})
        CHECK(model::config_from_json(model::to_json(config), "config.json") == config);
}

TEST_CASE("both generations of keys say the same, and what is missing has its class's default") {
    json now = without(without(llama(), "rope_theta"), "torch_dtype");
    now["dtype"] = "bfloat16";
    now["rope_parameters"] = with(now["rope_scaling"], "rope_theta", 500000.0);
    now.erase("rope_scaling");
    CHECK(read(now) == read(llama()));
    CHECK(read(without(llama(), "num_key_value_heads")).parts.kv_heads == 0);
    CHECK(read(without(llama(), "tie_word_embeddings")).parts.own_head == model::Has::yes);
    CHECK(read(without(llama(), "rms_norm_eps")).parts.norm_epsilon == 1e-6f);
    CHECK(read(without(mistral(), "sliding_window")).parts.window == 4096);
    CHECK(read(with(mistral(), "sliding_window", nullptr)).parts.window == 0);
    CHECK(read(without(mistral(), "num_key_value_heads")).parts.kv_heads == 8);
    CHECK(read(without(qwen3(), "head_dim")).parts.head_dim == 128);
    const json windowed = with(with(qwen3(), "use_sliding_window", true), "sliding_window", 99);
    CHECK(read(windowed).parts.window == 0);  // the first 28 layers have none
    CHECK(read(with(windowed, "max_window_layers", 0)).parts.window == 99);
    refused(with(windowed, "max_window_layers", 5), {"max_window_layers", "5"});
    json types = json::array();
    for (int i = 0; i < 28; ++i) types.push_back("full_attention");
    CHECK(read(with(windowed, "layer_types", types)).parts.window == 0);
    types[3] = "sliding_attention";
    refused(with(windowed, "layer_types", types), {"layer_types"});
}

TEST_CASE("configs of encoder-decoders have the norms and positions of their classes") {
    const auto one = read(bart());
    CHECK(one.kind == model::Kind::bart);
    CHECK(one.variant == model::Variant::bart);
    CHECK(one.embedding_size == 1024);
    CHECK(one.encoder_layers == 12);
    CHECK(one.activation == kernels::Activation::gelu_erf);
    CHECK(one.positions == model::Positions::learned);
    CHECK(one.embedding_scale == model::EmbeddingScale::none);
    CHECK(one.dropout == 0.1f);
    CHECK(one.attention_dropout == 0.1f);
    CHECK(one.relu_dropout == 0.1f);
    // The file has two positions more, which no token has.
    const auto rows_of = [](const model::ModelConfig& config) {
        for (const auto& row : model::parameter_rows(config))
            if (row.parameter.name == "encoder.position_embeddings.weight")
                return row.parameter.shape.front();
        return std::int64_t{0};
    };
    CHECK(rows_of(one) == 1026);
    const auto two = read(blenderbot());
    CHECK(two.variant == model::Variant::prelayernorm);
    CHECK(two.encoder_layers == 2);
    CHECK(two.decoder_layers == 12);
    CHECK(two.embedding_scale == model::EmbeddingScale::sqrt_dim);
    CHECK(rows_of(two) == 128);
    const auto three = read({{"model_type", "blenderbot-small"}});
    CHECK(three.variant == model::Variant::xlm);
    CHECK(three.embedding_size == 512);
    CHECK(three.decoder_layers == 8);
    CHECK(rows_of(three) == 512);
    for (const auto& config : {one, two, three})
        CHECK(model::config_from_json(model::to_json(config), "config.json") == config);
    CHECK(read(with(bart(), "activation_function", "relu")).activation ==
          kernels::Activation::relu);
}

TEST_CASE("a Phi3 has its window, and longrope is refused") {
    const auto one = read(phi3());
    CHECK(one.kind == model::Kind::phi3);
    CHECK(one.parts.window == 2047);
    CHECK(one.parts.norm_epsilon == 1e-5f);
    CHECK(read(without(phi3(), "sliding_window")).parts.window == 0);
    CHECK(read(with(phi3(), "resid_pdrop", 0.1)).dropout == 0.1f);
    CHECK(read({{"model_type", "phi3"}, {"rope_theta", 10000.0}}).embedding_size == 3072);
    refused(with(phi3(), "rope_scaling",
                 {{"type", "longrope"}, {"short_factor", {1.0}}, {"long_factor", {1.0}}}),
            {"rope_scaling", "longrope"});
    refused(with(phi3(), "partial_rotary_factor", 0.75), {"partial_rotary_factor"});
}

TEST_CASE("encoder-decoders that are made otherwise are refused by the key") {
    refused(with(bart(), "activation_function", "tanh"), {"activation_function", "gelu or relu"});
    refused(with(bart(), "normalize_before", true), {"normalize_before", "false"});
    refused(with(bart(), "add_final_layer_norm", true), {"add_final_layer_norm"});
    refused(with(blenderbot(), "layernorm_variant", "aiayn"), {"layernorm_variant"});
    refused(with(bart(), "add_bias_logits", true), {"add_bias_logits"});
    refused(with(bart(), "decoder_ffn_dim", 8), {"decoder_ffn_dim", "encoder_ffn_dim"});
    refused(without(with(bart(), "encoder_attention_heads", 8), "decoder_attention_heads"),
            {"decoder_attention_heads", "encoder_attention_heads"});
    refused(with(bart(), "encoder_layerdrop", 0.1), {"encoder_layerdrop"});
    refused(with(bart(), "tie_word_embeddings", false), {"tie_word_embeddings"});
    refused(with(bart(), "is_encoder_decoder", false), {"is_encoder_decoder"});
    refused(with(llama(), "is_encoder_decoder", true), {"is_encoder_decoder"});
    refused(with(bart(), "static_position_embeddings", true), {"static_position_embeddings"});
    refused(with(bart(), "relative_attention", 7), {"relative_attention", "7"});
    refused(with(bart(), "architectures", json::array({"BartForSequenceClassification"})),
            {"architectures", "BartForConditionalGeneration"});
}

TEST_CASE("rotary positions are those that one object or key says") {
    refused(without(without(llama(), "rope_theta"), "rope_scaling"), {"rope_theta", "missing"});
    refused(without(mistral(), "rope_theta"), {"rope_theta"});
    // Files of before the key.
    json old = with(without(without(llama(), "rope_theta"), "rope_scaling"), "transformers_version",
                    "4.31.0.dev0");
    CHECK(read(old).parts.rotary.theta == 10000.0f);
    refused(with(llama(), "rope_parameters", {{"rope_type", "default"}}), {"rope_scaling"});
    json inside = llama();
    inside["rope_scaling"]["rope_theta"] = 7.0;
    refused(inside, {"rope_theta"});
    for (const char* const type : {"dynamic", "longrope", "mrope", "3"})
        refused(with(qwen3(), "rope_scaling", {{"type", type}, {"factor", 2.0}}), {type, "yarn"});
    refused(with(qwen3(), "rope_scaling", {{"type", "linear"}}), {"factor"});
    refused(with(qwen3(), "rope_scaling", {{"type", "linear"}, {"factor", 2}, {"beta_fast", 3}}),
            {"beta_fast", "linear"});
    refused(with(qwen3(), "partial_rotary_factor", 0.5), {"partial_rotary_factor"});
    const auto yarn = read(with(
        qwen3(), "rope_scaling",
        {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}}));
    CHECK(yarn.parts.rotary.attention_factor == doctest::Approx(0.1 * std::log(4.0) + 1));
}

TEST_CASE("what Lockstep does not calculate is refused by name") {
    refused(with(llama(), "model_type", "gemma"), {"model_type", "gemma", "qwen3"});
    refused(with(llama(), "architectures", json::array({"LlamaForSequenceClassification"})),
            {"architectures", "LlamaForCausalLM"});
    refused(with(llama(), "quantization_config", {{"quant_method", "gptq"}}),
            {"quantization_config"});
    refused(with(llama(), "auto_map", {{"AutoModel", "x.Y"}}), {"auto_map"});
    refused(with(llama(), "hidden_act", "relu"), {"hidden_act", "relu"});
    refused(with(llama(), "num_experts", 8), {"num_experts", "8"});
    refused(with(llama(), "final_logit_softcapping", 30.0), {"final_logit_softcapping", "30"});
    refused(with(llama(), "pretraining_tp", 2), {"pretraining_tp"});
    refused(with(llama(), "sliding_window", 12), {"sliding_window"});
    refused(with(llama(), "hidden_size", -4), {"hidden_size", "-4"});
    refused(with(llama(), "attention_bias", "no"), {"attention_bias"});
    refused(with(llama(), "num_key_value_heads", 5), {"5"});
    refused(with(llama(), "head_dim", 63), {"63"});
    CHECK(read(with(llama(), "use_mrope", false)) == read(llama()));
    CHECK(read(with(llama(), "_name_or_path", "x")) == read(llama()));
}

TEST_CASE("frequencies of rotary positions shrink as their scaling says") {
    auto config = read(llama());
    const auto scaled = model::rotary_frequencies(config);
    config.parts.rotary.scaling = model::RotaryScaling::none;
    const auto plain = model::rotary_frequencies(config);
    REQUIRE(plain.size() == 32);
    CHECK(plain.front() == 1.0f);
    CHECK(plain.back() == doctest::Approx(std::pow(500000.0, -62.0 / 64)));
    CHECK(scaled.front() == plain.front());
    CHECK(scaled.back() == doctest::Approx(plain.back() / 32));
    config.parts.rotary.scaling = model::RotaryScaling::linear;
    CHECK(model::rotary_frequencies(config).front() == 1.0f / 32);
}
