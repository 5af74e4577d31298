// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "model/blocks/embedding_block.hpp"
#include "model/blocks/layer.hpp"
#include "runtime/kernels/dropout.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::model {

// An encoder or a decoder: the embedding, then the layers. It sets run.layer.
template <class Ctx, class T>
struct StackBlock {
    using Space = typename Ctx::Space;
    using Weights = Stack<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    struct Saved {
        // The branches whose input is calculated again share this memory. It is empty if there are
        // none. After forward it holds the output if the last layer is one of them.
        Matrix input_space;
        // MemoryBlock's matrix. Backward writes the gradient of each layer but the last to the
        // columns of the layer after it, which no layer reads any more.
        Matrix kv;
        typename EmbeddingBlock<Ctx, T>::Saved embedding;
        std::vector<typename LayerBlock<Ctx, T>::Saved> layers;
    };

    // Returns the normalised output [total, d]. memory is the encoder's output, or empty. begin()
    // is called before a block of parameters is read, in the opposite order of the table.
    static Constant forward(StackPass<Ctx, T> run, const Weights& weights, Constant embeddings,
                            Constant memory, Saved& saved, const std::function<void()>& begin);
    // What evaluate() calls, if given. begin: as forward does; the weights of a block are then only
    // there until the next block but one begins. visit: with each layer's values.
    struct Calls {
        std::function<void()> begin;
        std::function<void(std::size_t, const typename LayerBlock<Ctx, T>::Saved&)> visit;
    };
    // Does the same as forward without keeping what backward needs.
    static Constant evaluate(StackPass<Ctx, T> run, const Weights& weights, Constant embeddings,
                             Constant memory, const Calls& calls = {});
    // Destroys d_output and what saved.kv holds, and adds the embedding's gradient to `input`. If
    // d_memory is not empty, it is overwritten by the gradient of `memory`. finish() is called when
    // a block of parameters has its gradients, in the order of the table.
    static void backward(StackPass<Ctx, T> run, const Weights& weights, const Saved& saved,
                         Matrix d_output, Constant memory, Matrix d_memory,
                         const InputGradient<Space>& input, const std::function<void()>& finish);

private:
    // Moves the layers' sums to the block of the projections, or adds them to it.
    static void give_memory_biases(const StackPass<Ctx, T>& run, const Weights& weights);
};

// Tells whether the embedding has parameters of its own besides the table, which training changes.
template <class T, class Space>
bool has_embedding_block(const Stack<T, Space>& weights) {
    if (weights.frozen) return false;
    return weights.first_norm || weights.embedding_norm || !weights.d_positions.empty();
}

// Returns layer i's columns of MemoryBlock's matrix, or of its gradient.
template <class T, class Space>
MatrixView<T, Space> layer_columns(MatrixView<T, Space> kv, std::size_t layer,
                                   const Widths& widths) {
    if (kv.cols == 0) return {};
    const std::int64_t columns = widths.key_value();
    return kv.columns(static_cast<std::int64_t>(layer) * columns, columns);
}

template <class Ctx, class T>
auto StackBlock<Ctx, T>::forward(StackPass<Ctx, T> run, const Weights& weights, Constant embeddings,
                                 Constant memory, Saved& saved, const std::function<void()>& begin)
    -> Constant {
    saved.layers.resize(weights.layers.size());
    // No later layer has a higher level than the first one.
    if (level_of<Ctx>(run.plan, 0) >= Recompute::outputs)
        saved.input_space = run.take(run.own().total, embeddings.cols);
    run.enter(0, saved.input_space);
    if (has_embedding_block(weights)) begin();
    auto x = EmbeddingBlock<Ctx, T>::forward(run, weights, embeddings, saved.embedding);
    if (!weights.memory_projections.empty()) begin();
    saved.kv = MemoryBlock<Ctx, T>::forward(run, weights.memory_projections, memory);
    for (std::size_t i = 0; i < weights.layers.size(); ++i) {
        begin();
        run.enter(i, saved.input_space);
        x = LayerBlock<Ctx, T>::forward(run, weights.layers[i], x,
                                        layer_columns(saved.kv, i, run.settings.widths),
                                        saved.layers[i]);
    }
    return x.input;
}

template <class Ctx, class T>
auto StackBlock<Ctx, T>::evaluate(StackPass<Ctx, T> run, const Weights& weights,
                                  Constant embeddings, Constant memory, const Calls& calls)
    -> Constant {
    const std::int64_t rows = run.own().total, d = embeddings.cols;
    const bool one = run.settings.norms == NormPosition::after_sum;
    const Matrix input = run.take(rows, d);
    const Matrix residual = one ? input : run.take(rows, d);
    auto mark = run.arena.mark();
    // The next layer uses the same memory again, so a layer's output is moved out of it.
    const auto keep = [&](Stream<T, Space> x) {
        kernels::dropout<T>(run.ctx, {}, run.own().coordinates, x.input, input);
        if (!one) kernels::dropout<T>(run.ctx, {}, run.own().coordinates, x.residual, residual);
        run.arena.rewind(mark);
    };
    const auto begin = [&calls] {
        if (calls.begin) calls.begin();
    };
    typename EmbeddingBlock<Ctx, T>::Saved unused;
    if (has_embedding_block(weights)) begin();
    keep(EmbeddingBlock<Ctx, T>::forward(run, weights, embeddings, unused));
    Matrix all_kv;
    if (calls.begin && !weights.memory_projections.empty()) {
        begin();  // the block of all layers' projections, which is gone when the layers come
        all_kv = MemoryBlock<Ctx, T>::forward(run, weights.memory_projections, memory);
        mark = run.arena.mark();
    }
    for (const auto& layer : weights.layers) {
        begin();
        typename LayerBlock<Ctx, T>::Saved dropped;
        Matrix kv = layer_columns(all_kv, run.layer, run.settings.widths);
        if (layer.cross_attention && all_kv.empty())  // of this layer only
            kv = LinearBlock<Ctx, T>::forward_of_all(run, layer.cross_attention->kv, memory);
        const auto x = LayerBlock<Ctx, T>::forward(run, layer, {residual, input}, kv, dropped);
        if (calls.visit) calls.visit(run.layer, dropped);
        keep(x);
        ++run.layer;
    }
    return input;
}

template <class Ctx, class T>
void StackBlock<Ctx, T>::give_memory_biases(const StackPass<Ctx, T>& run, const Weights& weights) {
    if (weights.memory_biases.empty()) return;  // the layers have written to the block
    std::size_t first = 0;
    for (const auto& part : weights.memory_projections) {
        const auto count = static_cast<std::int64_t>(part.db.size());
        const View<const float, Space> sums = weights.memory_biases.subview(first, part.db.size());
        if (run.gradients_into == Into::add)
            kernels::add<float>(run.ctx, {sums.data(), 1, count}, {part.db.data(), 1, count});
        else
            device::copy(run.ctx, sums, part.db);
        first += part.db.size();
    }
}

template <class Ctx, class T>
void StackBlock<Ctx, T>::backward(StackPass<Ctx, T> run, const Weights& weights, const Saved& saved,
                                  Matrix d_output, Constant memory, Matrix d_memory,
                                  const InputGradient<Space>& input,
                                  const std::function<void()>& finish) {
    StreamGradient<T, Space> d{d_output, {}, {}};
    if (run.settings.norms == NormPosition::before_branch) {
        d.residual_space = run.take(d_output.rows, d_output.cols);
    }
    const Widths& widths = run.settings.widths;
    const bool has_memory = !weights.memory_projections.empty();
    const std::size_t layers = weights.layers.size();
    const Matrix d_last = run.take(run.all_rows(memory.rows), has_memory ? widths.key_value() : 0);
    if (!weights.memory_biases.empty() && run.gradients_into == Into::add)
        kernels::fill_zero(run.ctx, weights.memory_biases);
    for (std::size_t i = layers; i-- > 0;) {
        run.enter(i, saved.input_space);
        LayerBlock<Ctx, T>::backward(
            run, weights.layers[i], saved.layers[i], d,
            i + 1 == layers ? d_last : layer_columns(saved.kv, i + 1, widths));
        finish();
    }
    if (has_memory) {
        const Constant d_others = saved.kv.columns(d_last.cols, saved.kv.cols - d_last.cols);
        MemoryBlock<Ctx, T>::backward(run, weights.memory_projections, memory, d_others, d_last,
                                      d_memory);
        give_memory_biases(run, weights);
        finish();
    }
    if (weights.frozen && input.rows.empty()) return;
    EmbeddingBlock<Ctx, T>::backward(run, weights, saved.embedding, d, input);
    if (has_embedding_block(weights)) finish();
}

}  // namespace lockstep::model
