// SPDX-License-Identifier: Apache-2.0
#include "model/huggingface_config.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/config_json.hpp"
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
