// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/attention_block.hpp"
#include "model/blocks/ffn_block.hpp"
#include "model/blocks/residual_norm.hpp"

namespace lockstep::model {

// Self-attention, cross-attention where the layer has one, and the feed-forward block; each
// followed by its residual sum and norm.
template <class Ctx, class T>
struct LayerBlock {
    using Space = typename Ctx::Space;
    using Weights = Layer<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    // All that backward needs: drop it, call forward again, and it is back.
    struct Saved {
        InputSource<T, Space> self_input, cross_input, ffn_input;
        AttentionSaved<T, Space> self_attention, cross_attention;
        typename FeedForwardBlock<Ctx, T>::Saved ffn;
        typename ResidualNorm<Ctx, T>::Saved after_self, after_cross, after_ffn;
    };

    // kv, d_kv: the layer's columns of MemoryBlock's; empty where it has no cross-attention.
    static Stream<T, Space> forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                    Stream<T, Space> x, Matrix kv, Saved& saved);
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         StreamGradient<T, Space>& d, Matrix d_kv);
};

}  // namespace lockstep::model
