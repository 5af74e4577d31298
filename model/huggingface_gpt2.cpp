// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "model/huggingface_families.hpp"

namespace lockstep::model {

namespace {

constexpr std::array gpt2_keys{
    ConfigKey{"vocab_size", &ModelConfig::vocabulary, 50257},
    ConfigKey{"n_embd", &ModelConfig::embedding_size, 768},
    ConfigKey{"n_head", &ModelConfig::heads, 12},
    ConfigKey{"n_layer", &ModelConfig::decoder_layers, 12},
    ConfigKey{"n_positions", &ModelConfig::n_positions, 1024},
    ConfigKey{"resid_pdrop", &ModelConfig::dropout, 0.1},
    ConfigKey{"attn_pdrop", &ModelConfig::attention_dropout, 0.1},
};

// The summaries belong to a head that no language model has. reorder_and_upcast_attn changes only
// how numbers are rounded, n_ctx repeats n_positions, and --dropout stands for embd_pdrop, too.
constexpr std::array gpt2_without_effect{"summary_type",
                                         "summary_use_proj",
                                         "summary_activation",
                                         "summary_proj_to_labels",
                                         "summary_first_dropout",
                                         "reorder_and_upcast_attn",
                                         "n_special",
                                         "predict_special_tokens",
                                         "output_past",
                                         "n_ctx",
                                         "embd_pdrop"};

}  // namespace

ModelConfig read_gpt2(ConfigKeys& keys) {
    keys.require_one_of("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
    keys.require("layer_norm_epsilon", 1e-5);
    keys.require("scale_attn_weights", true);
    keys.require("scale_attn_by_inverse_layer_idx", false);
    keys.require("add_cross_attention", false);
    keys.require("tie_word_embeddings", true);
    ModelConfig config = gpt2_config();
    for (const ConfigKey& key : gpt2_keys) keys.read(key, config);
    config.ffn_size =
        keys.whole("n_inner", 4 * std::min(config.embedding_size, std::int64_t{1} << 40));
    keys.ignore(gpt2_without_effect);
    return config;
}

void write_gpt2(nlohmann::ordered_json& json, const ModelConfig& config,
                const ModelConfig* before) {
    write_keys(gpt2_keys, config, before, json);
    // --dropout stands for both.
    const std::array embeddings{ConfigKey{"embd_pdrop", &ModelConfig::dropout, 0.1}};
    write_keys(embeddings, config, before, json);
    if (before != nullptr) return;
    json["n_inner"] = config.ffn_size;
    json["activation_function"] = "gelu_new";
    json["layer_norm_epsilon"] = 1e-5;
    json["tie_word_embeddings"] = true;
}

}  // namespace lockstep::model
