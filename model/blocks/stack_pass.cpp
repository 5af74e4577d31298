// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/stack_pass.hpp"

#include <cmath>

namespace lockstep::model {

StackSettings stack_settings(const ModelConfig& config, StackKind kind,
                             const train::TensorSlice& slice) {
    const Widths all = widths(config, slice);
    const auto heads = static_cast<int>(all.heads), head_dim = static_cast<int>(all.head_dim);
    const auto mask = kind == StackKind::decoder ? kernels::Mask::causal : kernels::Mask::none;
    const bool scaled = config.embedding_scale == EmbeddingScale::sqrt_dim;
    return {kind,
            norm_position(config),
            embedding_norm(config, kind),
            all,
            config.parts.norm,
            config.parts.norm_epsilon,
            {heads, head_dim, mask, static_cast<int>(all.kv_heads),
             static_cast<std::int32_t>(config.parts.window)},
            {heads, head_dim, kernels::Mask::none, static_cast<int>(all.kv_heads)},
            config.parts.rotary.attention_factor,
            config.parts.gate,
            config.activation,
            scaled ? std::sqrt(static_cast<float>(config.embedding_size)) : 1.0f,
            config.dropout,
            config.attention_dropout,
            config.relu_dropout,
            config.lora.dropout,
            static_cast<std::uint32_t>(slice.rank * all.heads),
            static_cast<std::uint32_t>(slice.rank * (config.ffn_size / slice.size))};
}

}  // namespace lockstep::model
