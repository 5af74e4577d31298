// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "model/layer_parts.hpp"
#include "model/lora.hpp"
#include "runtime/kernels/activation.hpp"

namespace lockstep::model {

// The generator is transformer/generator; the others have the names of their families.
enum class Kind {
    generator,
    gpt2,
    llama,
    mistral,
    qwen2,
    qwen3,
    phi3,
    bart,
    blenderbot,
    blenderbot_small
};
enum class Variant { aiayn, prelayernorm, xlm, bart };  // ParlAI's names; gpt2 is always pre-norm
enum class Positions { sinusoidal, learned, rotary };
enum class EmbeddingScale { none, sqrt_dim };

// Holds everything that determines a model's parameters and arithmetic. It is stored in the model's
// config.json.
struct ModelConfig {
    Kind kind = Kind::generator;
    Variant variant = Variant::aiayn;
    kernels::Activation activation = kernels::Activation::relu;
    Positions positions = Positions::sinusoidal;
    EmbeddingScale embedding_scale = EmbeddingScale::sqrt_dim;
    std::int64_t vocabulary = 0;
    std::int64_t embedding_size = 300;
    std::int64_t ffn_size = 300;
    std::int64_t heads = 2;
    std::int64_t encoder_layers = 2;  // with an encoder only
    std::int64_t decoder_layers = 2;
    std::int64_t n_positions = 1024;
    float dropout = 0, attention_dropout = 0, relu_dropout = 0;
    float label_smoothing = 0;
    float z_loss = 0;  // kernels::LossTerms
    // The logit of this token is minus infinity in every loss; a negative id means no token.
    std::int64_t excluded_token = -1;
    LayerParts parts = {};
    Lora lora = {};

    bool operator==(const ModelConfig&) const = default;
};

// Returns the settings that Kind::gpt2 always has: learned positions, pre-norm, gelu_tanh, unscaled
// embeddings.
ModelConfig gpt2_config();

// Throws kind config with one line that names the option and the remedy.
void validate(const ModelConfig& config);

// Layer norms are either before each branch or after each residual sum.
enum class NormPosition { before_branch, after_sum };
NormPosition norm_position(const ModelConfig& config) noexcept;

}  // namespace lockstep::model
