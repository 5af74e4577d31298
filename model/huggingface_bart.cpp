// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <nlohmann/json.hpp>

#include "model/architectures.hpp"
#include "model/huggingface_families.hpp"

namespace lockstep::model {

namespace {

// The keys that these families have with the same default.
constexpr std::array shared_keys{
    ConfigKey{"dropout", &ModelConfig::dropout, 0.1},
    ConfigKey{"attention_dropout", &ModelConfig::attention_dropout, 0},
    ConfigKey{"activation_dropout", &ModelConfig::relu_dropout, 0},
};

constexpr std::array bart_keys{
    ConfigKey{"vocab_size", &ModelConfig::vocabulary, 50265},
    ConfigKey{"d_model", &ModelConfig::embedding_size, 1024},
    ConfigKey{"encoder_ffn_dim", &ModelConfig::ffn_size, 4096},
    ConfigKey{"encoder_attention_heads", &ModelConfig::heads, 16},
    ConfigKey{"encoder_layers", &ModelConfig::encoder_layers, 12},
    ConfigKey{"decoder_layers", &ModelConfig::decoder_layers, 12},
    ConfigKey{"max_position_embeddings", &ModelConfig::n_positions, 1024},
};

constexpr std::array blenderbot_keys{
    ConfigKey{"vocab_size", &ModelConfig::vocabulary, 8008},
    ConfigKey{"d_model", &ModelConfig::embedding_size, 2560},
    ConfigKey{"encoder_ffn_dim", &ModelConfig::ffn_size, 10240},
    ConfigKey{"encoder_attention_heads", &ModelConfig::heads, 32},
    ConfigKey{"encoder_layers", &ModelConfig::encoder_layers, 2},
    ConfigKey{"decoder_layers", &ModelConfig::decoder_layers, 24},
    ConfigKey{"max_position_embeddings", &ModelConfig::n_positions, 128},
};

constexpr std::array blenderbot_small_keys{
    ConfigKey{"vocab_size", &ModelConfig::vocabulary, 50265},
    ConfigKey{"d_model", &ModelConfig::embedding_size, 512},
    ConfigKey{"encoder_ffn_dim", &ModelConfig::ffn_size, 2048},
    ConfigKey{"encoder_attention_heads", &ModelConfig::heads, 16},
    ConfigKey{"encoder_layers", &ModelConfig::encoder_layers, 8},
    ConfigKey{"decoder_layers", &ModelConfig::decoder_layers, 8},
    ConfigKey{"max_position_embeddings", &ModelConfig::n_positions, 512},
};

std::span<const ConfigKey> sizes_of(Kind kind) {
    if (kind == Kind::blenderbot) return blenderbot_keys;
    return kind == Kind::bart ? bart_keys : blenderbot_small_keys;
}

// Belong to another task, to a model's first values or to generation, or repeat another key.
constexpr std::array bart_without_effect{
    "classifier_dropout",         "classif_dropout",      "init_std",
    "num_hidden_layers",          "output_past",          "normalize_embedding",
    "do_blenderbot_90_layernorm", "extra_pos_embeddings", "force_bos_token_to_be_generated"};

// The norms stand where the class has them. Files of other programs may want them elsewhere.
void require_norms(ConfigKeys& keys, Kind kind) {
    const bool before = kind == Kind::blenderbot;
    keys.require("normalize_before", before);
    keys.require("add_final_layer_norm", before);
    keys.require("extra_layer_norm", false);
    if (kind == Kind::bart) return;
    keys.require("layernorm_variant", before ? "prelayernorm" : "xlm");
}

// Both stacks have one width of the feed-forward block and one number of heads here.
void require_alike(ConfigKeys& keys, const char* decoders, const char* encoders, std::int64_t value,
                   std::int64_t missing) {
    if (keys.whole(decoders, missing) != value)
        keys.refuse(decoders, "the value of " + std::string(encoders));
}

kernels::Activation read_activation(ConfigKeys& keys) {
    keys.require_one_of("activation_function", {"gelu", "relu"});
    const nlohmann::json* const named = keys.find("activation_function");
    return named != nullptr && *named == "relu" ? kernels::Activation::relu
                                                : kernels::Activation::gelu_erf;
}

}  // namespace

ModelConfig read_bart(ConfigKeys& keys, Kind kind) {
    require_norms(keys, kind);
    keys.require("tie_word_embeddings", true);
    keys.require("encoder_layerdrop", 0);
    keys.require("decoder_layerdrop", 0);
    keys.require("static_position_embeddings", false);
    keys.require("add_bias_logits", false);
    ModelConfig config;
    config.kind = kind;
    config.activation = read_activation(keys);
    apply_fixed(config);
    for (const ConfigKey& key : shared_keys) keys.read(key, config);
    const std::span<const ConfigKey> sizes = sizes_of(kind);
    for (const ConfigKey& key : sizes) keys.read(key, config);
    const auto missing = [&](std::size_t number) {
        return static_cast<std::int64_t>(sizes[number].missing);
    };
    require_alike(keys, "decoder_ffn_dim", "encoder_ffn_dim", config.ffn_size, missing(2));
    require_alike(keys, "decoder_attention_heads", "encoder_attention_heads", config.heads,
                  missing(3));
    const bool scaled = keys.flag("scale_embedding", Has::no) == Has::yes;
    config.embedding_scale = scaled ? EmbeddingScale::sqrt_dim : EmbeddingScale::none;
    keys.ignore(bart_without_effect);
    return config;
}

void write_bart(nlohmann::ordered_json& json, const ModelConfig& config,
                const ModelConfig* before) {
    write_keys(shared_keys, config, before, json);
    write_keys(sizes_of(config.kind), config, before, json);
    if (before != nullptr) return;
    json["decoder_ffn_dim"] = config.ffn_size;
    json["decoder_attention_heads"] = config.heads;
    json["activation_function"] = config.activation == kernels::Activation::relu ? "relu" : "gelu";
    json["scale_embedding"] = config.embedding_scale == EmbeddingScale::sqrt_dim;
    json["is_encoder_decoder"] = true;
    json["tie_word_embeddings"] = true;
}

}  // namespace lockstep::model
