// SPDX-License-Identifier: Apache-2.0
#include "model/huggingface_config.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/architectures.hpp"
#include "model/config_json.hpp"
#include "model/huggingface_writing.hpp"
#include "model/parameter_rows.hpp"
#include "model/parts.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"

using namespace lockstep;
using nlohmann::json;

namespace {

// As meta-llama/Llama-3.2-1B has it, in the keys of transformers 4.
json llama() {
    return parse_json(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
        "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 64,
        "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
        "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false,
        "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16,
        "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
        "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192, "rope_type": "llama3"},
        "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
        "transformers_version": "4.45.0.dev0", "use_cache": true, "vocab_size": 128256})");
}

// As Qwen/Qwen3-0.6B has it.
json qwen3() {
    return parse_json(R"({"architectures": ["Qwen3ForCausalLM"], "attention_bias": false,
        "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128,
        "hidden_act": "silu", "hidden_size": 1024, "initializer_range": 0.02,
        "intermediate_size": 3072, "max_position_embeddings": 40960, "max_window_layers": 28,
        "model_type": "qwen3", "num_attention_heads": 16, "num_hidden_layers": 28,
        "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null,
        "rope_theta": 1000000, "sliding_window": null, "tie_word_embeddings": true,
        "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": true,
        "use_sliding_window": false, "vocab_size": 151936})");
}

// As mistralai/Mistral-7B-v0.1 has it.
json mistral() {
    return parse_json(R"({"architectures": ["MistralForCausalLM"], "bos_token_id": 1,
        "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
        "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral",
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16",
        "transformers_version": "4.34.0.dev0", "use_cache": true, "vocab_size": 32000})");
}

// As facebook/bart-large has it.
json bart() {
    return parse_json(R"({"activation_dropout": 0.1, "activation_function": "gelu",
        "add_bias_logits": false, "add_final_layer_norm": false, "architectures": ["BartModel"],
        "attention_dropout": 0.1, "bos_token_id": 0, "classif_dropout": 0.1,
        "classifier_dropout": 0.0, "d_model": 1024, "decoder_attention_heads": 16,
        "decoder_ffn_dim": 4096, "decoder_layerdrop": 0.0, "decoder_layers": 12,
        "decoder_start_token_id": 2, "dropout": 0.1, "early_stopping": true,
        "encoder_attention_heads": 16, "encoder_ffn_dim": 4096, "encoder_layerdrop": 0.0,
        "encoder_layers": 12, "eos_token_id": 2, "forced_bos_token_id": 0,
        "forced_eos_token_id": 2, "gradient_checkpointing": false, "id2label": {"0": "LABEL_0"},
        "init_std": 0.02, "is_encoder_decoder": true, "label2id": {"LABEL_0": 0},
        "max_position_embeddings": 1024, "model_type": "bart", "no_repeat_ngram_size": 3,
        "normalize_before": false, "num_beams": 4, "num_hidden_layers": 12, "pad_token_id": 1,
        "scale_embedding": false, "task_specific_params": {"summarization": {"num_beams": 4}},
        "torch_dtype": "float32", "transformers_version": "4.7.0.dev0", "use_cache": true,
        "vocab_size": 50265})");
}

// As facebook/blenderbot-400M-distill has it.
json blenderbot() {
    return parse_json(R"({"activation_dropout": 0.0, "activation_function": "gelu",
        "add_bias_logits": false, "add_final_layer_norm": true,
        "architectures": ["BlenderbotForConditionalGeneration"], "attention_dropout": 0.0,
        "bos_token_id": 1, "classif_dropout": 0.0, "classifier_dropout": 0.0, "d_model": 1280,
        "decoder_attention_heads": 32, "decoder_ffn_dim": 5120, "decoder_layerdrop": 0.0,
        "decoder_layers": 12, "decoder_start_token_id": 1, "do_blenderbot_90_layernorm": true,
        "dropout": 0.1, "encoder_attention_heads": 32, "encoder_ffn_dim": 5120,
        "encoder_layerdrop": 0.0, "encoder_layers": 2, "encoder_no_repeat_ngram_size": 3,
        "eos_token_id": 2, "extra_layer_norm": false, "extra_pos_embeddings": 0,
        "force_bos_token_to_be_generated": false, "forced_eos_token_id": 2, "init_std": 0.02,
        "is_encoder_decoder": true, "layernorm_variant": "prelayernorm", "length_penalty": 0.65,
        "max_length": 60, "max_position_embeddings": 128, "min_length": 20,
        "model_type": "blenderbot", "no_repeat_ngram_size": 3, "normalize_before": true,
        "normalize_embedding": false, "num_beams": 10, "num_hidden_layers": 2,
        "pad_token_id": 0, "scale_embedding": true, "static_position_embeddings": false,
        "unk_token_id": 3, "use_cache": true, "vocab_size": 8008})");
}

// As microsoft/Phi-3-mini-4k-instruct has it.
json phi3() {
    return parse_json(R"({"architectures": ["Phi3ForCausalLM"], "attention_bias": false,
        "attention_dropout": 0.0,
        "auto_map": {"AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"}, "bos_token_id": 1,
        "embd_pdrop": 0.0, "eos_token_id": 32000, "hidden_act": "silu", "hidden_size": 3072,
        "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 4096,
        "model_type": "phi3", "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 32, "original_max_position_embeddings": 4096,
        "pad_token_id": 32000, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_scaling": null,
        "rope_theta": 10000.0, "sliding_window": 2047, "tie_word_embeddings": false,
        "torch_dtype": "bfloat16", "transformers_version": "4.40.2", "use_cache": true,
        "vocab_size": 32064})");
}

json with(json config, const char* key, const json& value) {
    config[key] = value;
    return config;
}

json without(json config, const char* key) {
    config.erase(key);
    return config;
}

model::ModelConfig read(const json& config) {
    return model::config_from_huggingface(dump_json(config), "m/config.json");
}

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

TEST_CASE("a config.json that is written is read as the same model, in both generations of keys") {
    const auto text_of = [](const json& config) { return dump_json(config); };
    json linear = with(llama(), "rope_scaling", {{"rope_type", "linear"}, {"factor", 2.5}});
    json yarn = with(qwen3(), "rope_scaling",
                     {{"rope_type", "yarn"},
                      {"factor", 4.0},
                      {"original_max_position_embeddings", 32768},
                      {"truncate", false}});
    json windowed = with(qwen3(), "use_sliding_window", true);
    windowed["sliding_window"] = 128;
    windowed["max_window_layers"] = 0;
    const json gpt2 = parse_json(R"({"model_type": "gpt2", "n_inner": 1000, "attn_pdrop": 0.3})");
    const json small = parse_json(R"({"model_type": "blenderbot-small", "encoder_ffn_dim": 96,
        "decoder_ffn_dim": 96, "scale_embedding": true, "activation_function": "relu"})");
    for (const json& one : {llama(), qwen3(), mistral(), linear, yarn, windowed, gpt2, phi3(),
                            bart(), blenderbot(), small}) {
        CAPTURE(one.dump());
        const model::ModelConfig config = model::config_from_huggingface(text_of(one), "x");
        const std::string text = model::config_for_huggingface(config, "bfloat16", "",
                                                               {1, std::nullopt, {2, 3}, {}, {}});
        model::ModelConfig again = model::config_from_huggingface(text, "y");
        // Sizes that transformers' classes calculate are told.
        again.parts.kv_heads = config.parts.kv_heads;
        again.parts.head_dim = config.parts.head_dim;
        CHECK(again == config);
        const json written = parse_json(text);
        // A run that goes on in its folder does not change what it has written.
        CHECK(model::config_for_huggingface(config, "bfloat16", text, {}) == text);
        CHECK(written.at("eos_token_id") == json{2, 3});
        CHECK(written.at("bos_token_id") == 1);
        CHECK(written.at("torch_dtype") == "bfloat16");
        CHECK(written.contains("decoder_start_token_id") == model::has_encoder(config));
        for (const char* key : {"rope_parameters", "rope_scaling"}) {
            json before = written;
            if (!before.contains("rope_theta")) continue;
            before.erase(key);
            before.erase("rope_theta");
            if (before.contains("rope_scaling") && before["rope_scaling"].is_null()) continue;
            CHECK(model::config_from_huggingface(text_of(before), "z").parts.rotary ==
                  config.parts.rotary);
        }
    }
}

TEST_CASE("a config.json that came in stays but for what the run has otherwise") {
    for (const json& one : {llama(), qwen3(), mistral()}) {
        model::ModelConfig config = model::config_from_huggingface(dump_json(one), "x");
        const auto written = [&](const char* dtype) {
            return parse_json(model::config_for_huggingface(config, dtype, dump_json(one), {}));
        };
        CHECK(written("bfloat16") == one);
        CHECK(written("float32") == with(one, "torch_dtype", "float32"));
        config.attention_dropout = 0.1F;
        CHECK(written("bfloat16") == with(one, "attention_dropout", 0.1));
    }
}

TEST_CASE("a config.json of an encoder-decoder has its class with a head, and tokens of labels") {
    const model::ModelConfig config = read(bart());
    const auto written = [&](const json& before, const model::HuggingfaceTokens& tokens) {
        const std::string text = before.is_null() ? "" : dump_json(before);
        return parse_json(model::config_for_huggingface(config, "float32", text, tokens));
    };
    const json head = json::array({"BartForConditionalGeneration"});
    CHECK(written(bart(), {}) == with(bart(), "architectures", head));
    const json made = written(nullptr, {0, std::nullopt, {2}, 7, 5});
    CHECK(made.at("architectures") == head);
    // transformers cannot shift labels without a token that fills them up.
    CHECK(made.at("pad_token_id") == 2);
    CHECK(made.at("decoder_start_token_id") == 7);
    CHECK(made.at("forced_bos_token_id") == 5);
    CHECK(made.at("forced_eos_token_id") == 2);
    CHECK(!written(nullptr, {0, 1, {2}, 2, {}}).contains("forced_bos_token_id"));
}
