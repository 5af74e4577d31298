// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.hpp"
#include "model/dropout_sites.hpp"
#include "runtime/train/tensor_slice.hpp"

namespace lockstep::model {

// The parts of which a model consists. Code that computes asks for them, never for a Kind or a
// Variant, which are only names for some of their combinations.

// Says where a stack normalises its embeddings, before or after it adds the positions.
enum class EmbeddingNorm { none, before_positions, after_positions };

// Says where a model has its norms.
struct Norms {
    NormPosition position = NormPosition::after_sum;
    EmbeddingNorm encoder_embedding = EmbeddingNorm::none;
    EmbeddingNorm decoder_embedding = EmbeddingNorm::none;

    bool operator==(const Norms&) const = default;
};

Norms norms(const ModelConfig& config) noexcept;
EmbeddingNorm embedding_norm(const ModelConfig& config, StackKind stack) noexcept;

// Holds the widths of attention's matrices, in columns.
struct Widths {
    std::int64_t heads = 1, kv_heads = 1, head_dim = 1;

    std::int64_t q() const noexcept { return heads * head_dim; }
    // Those of the keys, of as many values, of both side by side, and of the queries beside them.
    std::int64_t kv() const noexcept { return kv_heads * head_dim; }
    std::int64_t key_value() const noexcept { return 2 * kv(); }
    std::int64_t qkv() const noexcept { return q() + key_value(); }
};

Widths widths(const ModelConfig& config) noexcept;
// Returns those of one of the ranks that divide the heads. A head of keys and values is held by
// several ranks if there are fewer of them than ranks.
Widths widths(const ModelConfig& config, const train::TensorSlice& slice) noexcept;

// Returns the inverse frequencies of rotary positions, of which each turns two columns of a head.
// The formulas are those of transformers' modeling_rope_utils.
std::vector<float> rotary_frequencies(const ModelConfig& config);

}  // namespace lockstep::model
