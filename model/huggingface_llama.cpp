// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "model/architectures.hpp"
#include "model/huggingface_families.hpp"
#include "model/huggingface_rotary.hpp"
#include "model/parts.hpp"

namespace lockstep::model {

namespace {

// The keys that all of these families have with the same default.
constexpr std::array common_keys{
    ConfigKey{"hidden_size", &ModelConfig::embedding_size, 4096},
    ConfigKey{"num_hidden_layers", &ModelConfig::decoder_layers, 32},
    ConfigKey{"num_attention_heads", &ModelConfig::heads, 32},
    ConfigKey{"attention_dropout", &ModelConfig::attention_dropout, 0},
    ConfigKey{"rms_norm_eps", &LayerParts::norm_epsilon, 1e-6},
};

constexpr std::array llama_keys{
    ConfigKey{"vocab_size", &ModelConfig::vocabulary, 32000},
    ConfigKey{"intermediate_size", &ModelConfig::ffn_size, 11008},
    ConfigKey{"max_position_embeddings", &ModelConfig::n_positions, 2048},
    ConfigKey{"num_key_value_heads", &LayerParts::kv_heads, 0},
    ConfigKey{"head_dim", &LayerParts::head_dim, 0},
    ConfigKey{"attention_bias", &LayerParts::qkv_bias, 0},
    ConfigKey{"attention_bias", &LayerParts::out_bias, 0},
    ConfigKey{"mlp_bias", &LayerParts::ffn_bias, 0},
};

constexpr std::array mistral_keys{
    ConfigKey{"vocab_size", &ModelConfig::vocabulary, 32000},
    ConfigKey{"intermediate_size", &ModelConfig::ffn_size, 14336},
    ConfigKey{"max_position_embeddings", &ModelConfig::n_positions, 4096 * 32},
    ConfigKey{"num_key_value_heads", &LayerParts::kv_heads, 8},
    ConfigKey{"head_dim", &LayerParts::head_dim, 0},
};

constexpr std::array qwen2_keys{
    ConfigKey{"vocab_size", &ModelConfig::vocabulary, 151936},
    ConfigKey{"intermediate_size", &ModelConfig::ffn_size, 22016},
    ConfigKey{"max_position_embeddings", &ModelConfig::n_positions, 32768},
    ConfigKey{"num_key_value_heads", &LayerParts::kv_heads, 32},
    ConfigKey{"head_dim", &LayerParts::head_dim, 0},
};

constexpr std::array qwen3_keys{
    ConfigKey{"vocab_size", &ModelConfig::vocabulary, 151936},
    ConfigKey{"intermediate_size", &ModelConfig::ffn_size, 22016},
    ConfigKey{"max_position_embeddings", &ModelConfig::n_positions, 32768},
    ConfigKey{"num_key_value_heads", &LayerParts::kv_heads, 32},
    ConfigKey{"head_dim", &LayerParts::head_dim, 128},
    ConfigKey{"attention_bias", &LayerParts::qkv_bias, 0},
    ConfigKey{"attention_bias", &LayerParts::out_bias, 0},
};

constexpr std::array phi3_keys{
    ConfigKey{"vocab_size", &ModelConfig::vocabulary, 32064},
    ConfigKey{"hidden_size", &ModelConfig::embedding_size, 3072},
    ConfigKey{"intermediate_size", &ModelConfig::ffn_size, 8192},
    ConfigKey{"max_position_embeddings", &ModelConfig::n_positions, 4096},
    ConfigKey{"num_key_value_heads", &LayerParts::kv_heads, 0},
    ConfigKey{"head_dim", &LayerParts::head_dim, 0},
    ConfigKey{"rms_norm_eps", &LayerParts::norm_epsilon, 1e-5},
    ConfigKey{"resid_pdrop", &ModelConfig::dropout, 0},
};

// The first two have no use without longrope. Microsoft's folders name code that transformers has
// in a class of its own.
constexpr std::array phi3_without_effect{"original_max_position_embeddings", "embd_pdrop",
                                         "auto_map"};

std::span<const ConfigKey> keys_of(Kind kind) {
    switch (kind) {
        case Kind::phi3:
            return phi3_keys;
        case Kind::mistral:
            return mistral_keys;
        case Kind::qwen2:
            return qwen2_keys;
        case Kind::qwen3:
            return qwen3_keys;
        default:
            return llama_keys;
    }
}

enum class LayerType { full, windowed };

// Returns the type of a layer without layer_types: the first ones may have no window.
LayerType layer_type(ConfigKeys& keys, std::int64_t layers) {
    const bool used = keys.flag("use_sliding_window", Has::no) == Has::yes;
    const nlohmann::json* const given = keys.find("max_window_layers");
    const nlohmann::json full = given == nullptr ? nlohmann::json(28) : *given;
    const nlohmann::json* const types = keys.find("layer_types");
    const auto all_are = [&](const char* type) {
        return types->is_array() && static_cast<std::int64_t>(types->size()) == layers &&
               std::ranges::all_of(*types, [type](const auto& each) { return each == type; });
    };
    if (types != nullptr) {
        if (all_are("full_attention")) return LayerType::full;
        if (used && all_are("sliding_attention")) return LayerType::windowed;
        keys.refuse("layer_types",
                    "as many as there are layers, all full_attention, or all "
                    "sliding_attention with use_sliding_window");
    }
    if (!used || full >= layers) return LayerType::full;
    if (full != 0) keys.refuse("max_window_layers", "a window in all layers or in none");
    return LayerType::windowed;
}

// Mistral's class has a window of 4096 unless the file says null, Phi3's the file's; the others use
// theirs if asked.
bool always_uses_window(Kind kind) { return kind == Kind::mistral || kind == Kind::phi3; }

std::int64_t read_window(ConfigKeys& keys, const ModelConfig& config) {
    if (config.kind == Kind::llama) return 0;
    const bool none = keys.is_null("sliding_window") ||
                      (config.kind == Kind::phi3 && keys.find("sliding_window") == nullptr);
    const std::int64_t window = keys.whole("sliding_window", none ? 0 : 4096);
    const bool is_full = !always_uses_window(config.kind) &&
                         layer_type(keys, config.decoder_layers) == LayerType::full;
    // No row is longer than the positions.
    return is_full || window >= config.n_positions ? 0 : window;
}

}  // namespace

ModelConfig read_llama(ConfigKeys& keys, Kind kind) {
    keys.require_one_of("hidden_act", {"silu", "swish"});
    ModelConfig config;
    config.kind = kind;
    apply_fixed(config);
    config.encoder_layers = 0;
    config.dropout = 0;
    for (const ConfigKey& key : common_keys) keys.read(key, config);
    for (const ConfigKey& key : keys_of(kind)) keys.read(key, config);
    const bool tied = keys.flag("tie_word_embeddings", Has::no) == Has::yes;
    config.parts.own_head = tied ? Has::no : Has::yes;
    if (kind == Kind::llama) keys.require("pretraining_tp", 1);
    if (kind == Kind::phi3) keys.ignore(phi3_without_effect);
    config.parts.window = read_window(keys, config);
    config.parts.rotary = read_rotary(keys, config.n_positions);
    return config;
}

namespace {

// A window in all layers, or in none.
void write_window(nlohmann::ordered_json& json, const ModelConfig& config) {
    const std::int64_t window = config.parts.window;
    if (config.kind == Kind::llama) return;
    json["sliding_window"] = window > 0 ? nlohmann::ordered_json(window) : nlohmann::ordered_json();
    if (always_uses_window(config.kind)) return;
    json["use_sliding_window"] = window > 0;
    json["max_window_layers"] = window > 0 ? 0 : config.decoder_layers;
}

// A width that a model does not tell is calculated, and is the same as one that it tells.
ModelConfig with_widths(ModelConfig config) {
    const Widths sizes = widths(config);
    config.parts.kv_heads = sizes.kv_heads;
    config.parts.head_dim = sizes.head_dim;
    return config;
}

}  // namespace

void write_llama(nlohmann::ordered_json& json, const ModelConfig& config,
                 const ModelConfig* before) {
    const Widths sizes = widths(config);
    const ModelConfig told = with_widths(config), was = with_widths(before ? *before : config);
    write_keys(common_keys, told, before ? &was : nullptr, json);
    write_keys(keys_of(config.kind), told, before ? &was : nullptr, json);
    if (before != nullptr) return;
    json["hidden_act"] = "silu";
    json["num_key_value_heads"] = sizes.kv_heads;
    json["head_dim"] = sizes.head_dim;
    json["tie_word_embeddings"] = config.parts.own_head == Has::no;
    write_window(json, config);
    write_rotary(json, config.parts.rotary);
}

}  // namespace lockstep::model
