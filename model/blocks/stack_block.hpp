// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "model/blocks/embedding_block.hpp"
#include "model/blocks/layer.hpp"

namespace lockstep::model {

// An encoder or a decoder: the embedding, then the layers. run.layer is set by it.
template <class Ctx, class T>
struct StackBlock {
    using Space = typename Ctx::Space;
    using Weights = Stack<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    struct Saved {
        // Shared by all branches; after forward it holds the output. Empty: each branch's input is
        // kept.
        Matrix input_space;
        typename EmbeddingBlock<Ctx, T>::Saved embedding;
        std::vector<typename LayerBlock<Ctx, T>::Saved> layers;
    };

    // The normalised output [total, d]. memory is the encoder's output, or empty.
    static Constant forward(StackPass<Ctx, T> run, const Weights& weights, Constant embeddings,
                            Constant memory, Saved& saved);
    // The same without keeping what backward needs; visit, where given, sees it layer by layer.
    using Visit = std::function<void(std::size_t, const typename LayerBlock<Ctx, T>::Saved&)>;
    static Constant evaluate(StackPass<Ctx, T> run, const Weights& weights, Constant embeddings,
                             Constant memory, const Visit& visit = {});
    // Destroys d_output; adds the embedding's gradient to `input`; overwrites d_memory, the
    // gradient of `memory`, where that is not empty. finish() is called as each block of parameters
    // has its gradients, in the order of the table.
    static void backward(StackPass<Ctx, T> run, const Weights& weights, const Saved& saved,
                         Matrix d_output, Constant memory, Matrix d_memory,
                         const InputGradient<Space>& input, const std::function<void()>& finish);
};

}  // namespace lockstep::model
