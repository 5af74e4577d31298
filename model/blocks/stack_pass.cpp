// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/stack_pass.hpp"

#include <cmath>

namespace lockstep::model {

StackSettings stack_settings(const ModelConfig& config, StackKind kind) {
    const auto heads = static_cast<int>(config.heads);
    const auto head_dim = static_cast<int>(config.embedding_size / config.heads);
    const auto mask = kind == StackKind::decoder ? kernels::Mask::causal : kernels::Mask::none;
    const bool scaled = config.embedding_scale == EmbeddingScale::sqrt_dim;
    return {kind,
            norm_position(config),
            {heads, head_dim, mask},
            {heads, head_dim, kernels::Mask::none},
            config.activation,
            scaled ? std::sqrt(static_cast<float>(config.embedding_size)) : 1.0f,
            config.dropout,
            config.attention_dropout,
            config.relu_dropout};
}

}  // namespace lockstep::model
