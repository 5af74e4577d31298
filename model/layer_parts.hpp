// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/kernels/norm.hpp"

namespace lockstep::model {

// Says whether a model has an optional part.
enum class Has { no, yes };

// Says how rotary positions go beyond the lengths of pretraining; the names are transformers'
// rope_type.
enum class RotaryScaling { none, linear, llama3, yarn };

// Describes rotary positions. A scaling ignores the members that it has no use for.
struct Rotary {
    float theta = 10000;
    RotaryScaling scaling = RotaryScaling::none;
    float factor = 1;
    float original_positions = 0;                               // of pretraining: llama3, yarn
    float low_frequency_factor = 1, high_frequency_factor = 4;  // llama3
    float beta_fast = 32, beta_slow = 1;                        // yarn
    Has whole_bounds = Has::yes;  // yarn: the ramp begins and ends at whole dimensions
    float attention_factor = 1;   // of sine and cosine: yarn

    bool operator==(const Rotary&) const = default;
};

// The parts that families of models have or lack. The defaults are those of ParlAI's generator and
// of GPT-2.
struct LayerParts {
    kernels::NormKind norm = kernels::NormKind::layer;  // rms has no bias
    float norm_epsilon = kernels::layer_norm_epsilon;
    std::int64_t kv_heads = 0;  // heads of keys and values; 0: as many as --n-heads
    std::int64_t head_dim = 0;  // columns of a head; 0: embedding_size / heads
    Has head_norms = Has::no;   // rms norms of each head's query and key
    Has gate = Has::no;         // f(gate(x)) * up(x) in the feed-forward block
    Has qkv_bias = Has::yes, out_bias = Has::yes, ffn_bias = Has::yes;
    Has own_head = Has::no;   // the matrix of the output is not the table of embeddings
    std::int64_t window = 0;  // a token attends to this many, itself included; 0: to all before it
    Rotary rotary = {};       // of Positions::rotary

    bool operator==(const LayerParts&) const = default;
};

}  // namespace lockstep::model
