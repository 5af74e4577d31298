// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "model/config.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::model {

// The model's weights as named views into a parameter store: what is computed with (T), and where
// the gradients (always fp32) go. A forward pass alone never touches the latter.

// y = x w^T + b, w [out, in]
template <class T, class Space>
struct Linear {
    MatrixView<const T, Space> w;
    View<const T, Space> b;
    MatrixView<float, Space> dw;
    View<float, Space> db;
};

template <class T, class Space>
struct Norm {
    View<const T, Space> gamma, beta;
    View<float, Space> dgamma, dbeta;
};

template <class T, class Space>
struct SelfAttention {
    Linear<T, Space> qkv;  // rows: d of q, d of k, d of v
    Linear<T, Space> out;
};

template <class T, class Space>
struct CrossAttention {
    Linear<T, Space> q;
    Linear<T, Space> kv;  // of the encoder's output; rows: d of k, d of v
    Linear<T, Space> out;
};

template <class T, class Space>
struct FeedForward {
    Linear<T, Space> up, down;  // [ffn, d], [d, ffn]
};

// One layer and the norms that it runs, each fused with the residual sum before it. Where norms
// stand before the branches, `after_ffn` is therefore the next layer's first norm, or the last
// layer's final one.
template <class T, class Space>
struct Layer {
    SelfAttention<T, Space> self_attention;
    Norm<T, Space> after_self;
    std::optional<CrossAttention<T, Space>> cross_attention;  // a generator's decoder
    Norm<T, Space> after_cross;
    FeedForward<T, Space> ffn;
    Norm<T, Space> after_ffn;
};

template <class T, class Space>
struct Stack {
    MatrixView<const T, Space> positions;          // [n_positions, d]
    MatrixView<float, Space> d_positions;          // empty: sinusoidal
    MatrixView<const T, Space> no_positions;       // as many rows, all zero
    std::optional<Norm<T, Space>> embedding_norm;  // xlm
    std::optional<Norm<T, Space>> first_norm;      // of layer 0, where norms stand before branches
    std::vector<Layer<T, Space>> layers;
    // All layers' kv of the encoder's output, in order: one matrix where they stand without gaps,
    // else one each.
    std::vector<Linear<T, Space>> memory_projections;
};

template <class T, class Space>
struct TransformerWeights {
    MatrixView<const T, Space> embeddings;  // [vocabulary, d]; the output projection as well
    MatrixView<float, Space> d_embeddings;
    std::optional<Stack<T, Space>> encoder;  // generator only
    Stack<T, Space> decoder;
    device::Buffer<T, Space> sinusoidal;  // what Stack::positions shows where they are not learned
    device::Buffer<T, Space> zero_row;    // what Stack::no_positions shows
    device::Buffer<T, Space> class_bias;  // [vocabulary], or empty: added to the logits of a loss
};

// `table` is parameter_table(config); the store outlives the weights.
template <class T, class Ctx>
TransformerWeights<T, typename Ctx::Space> bind_weights(
    Ctx& ctx, const ModelConfig& config, const train::ParameterTable& table,
    const train::ParameterStore<typename Ctx::Space>& store);

// ParlAI's create_position_codes: column j of row p is sin (j even) or cos (j odd) of
// p / 10000^(2 (j / 2) / d). Row-major [n_positions, d].
std::vector<float> sinusoidal_positions(std::int64_t n_positions, std::int64_t d);

}  // namespace lockstep::model
