// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/residual_norm.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"

namespace lockstep::model {

// What the input's part of the embedding table's gradient is added to: that of token t to row t,
// or slots[t] where there are slots.
template <class Space>
struct InputGradient {
    MatrixView<float, Space> rows;
    View<const std::int32_t, Space> slots = {};
};

// From tokens to the stream that layer 0 reads. With e = scale * embeddings[token] and
// p = positions[position]:
//   aiayn, prelayernorm:  x = dropout(e + p)
//   xlm, encoder:         x = dropout(norm(e + p))
//   xlm, decoder:         x = dropout(norm(e) + p)      (ParlAI's two orders)
// and where norms stand before branches, layer 0 reads norm1(x).
template <class Ctx, class T>
struct EmbeddingBlock {
    using Space = typename Ctx::Space;
    using Weights = Stack<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    struct Saved {
        typename PlainNorm<Ctx, T>::Saved embedding_norm, first_norm;
    };

    static Stream<T, Space> forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                    Constant embeddings, Saved& saved);
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         StreamGradient<T, Space> d, const InputGradient<Space>& input);
};

}  // namespace lockstep::model
