// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "model/config.hpp"
#include "model/huggingface_config.hpp"
#include "runtime/core/json_text.hpp"

// config.json of models of the Hugging Face Hub.
namespace lockstep::tests::hub_configs {

using nlohmann::json;

// As meta-llama/Llama-3.2-1B has it, in the keys of transformers 4.
inline json llama() {
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
inline json qwen3() {
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
inline json mistral() {
    return parse_json(R"({"architectures": ["MistralForCausalLM"], "bos_token_id": 1,
        "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
        "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral",
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16",
        "transformers_version": "4.34.0.dev0", "use_cache": true, "vocab_size": 32000})");
}

// As facebook/bart-large has it.
inline json bart() {
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
inline json blenderbot() {
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
inline json phi3() {
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

inline json with(json config, const char* key, const json& value) {
    config[key] = value;
    return config;
}

inline json without(json config, const char* key) {
    config.erase(key);
    return config;
}

inline model::ModelConfig read(const json& config) {
    return model::config_from_huggingface(dump_json(config), "m/config.json");
}

}  // namespace lockstep::tests::hub_configs
