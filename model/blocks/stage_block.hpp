// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/blocks/stack_block.hpp"
#include "model/blocks/weights.hpp"
#include "model/pipeline_division.hpp"
#include "runtime/kernels/dropout.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::model {

// The layers of a stage of a decoder. Between stages travels what outlives a layer: the residual
// sum if norms come before branches, of which the next stage runs the norm, else the layer's
// output.
template <class Ctx, class T>
struct StageBlock {
    using Space = typename Ctx::Space;
    using Weights = Stack<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    struct Saved {
        Matrix input_space;  // as in StackBlock::Saved
        typename EmbeddingBlock<Ctx, T>::Saved entry;
        std::vector<typename LayerBlock<Ctx, T>::Saved> layers;
    };

    const Weights& weights;
    const Constant embeddings;                    // of the first stage
    const MatrixView<float, Space> d_embeddings;  // the same
    const LayerRange layers;                      // numbers in the model
    const train::PipelineStage stage;
    const std::int64_t width;

    // `x` came from the stage before. Returns what goes to the next one, or to the head.
    Constant forward(StackPass<Ctx, T> run, Constant x, Saved& saved) const;
    // Does the same without keeping what backward needs.
    Constant evaluate(StackPass<Ctx, T> run, Constant x) const;
    // Destroys d_output, and returns the gradient of x; of the first stage nothing.
    Matrix backward(StackPass<Ctx, T> run, const Saved& saved, Matrix d_output) const;

private:
    static bool is_one(const StackPass<Ctx, T>& run) noexcept {
        return run.settings.norms == NormPosition::after_sum;
    }
    // Returns the stream that the first layer reads.
    Stream<T, Space> enter(const StackPass<Ctx, T>& run, Constant x, Saved& saved) const {
        if (stage.is_first())
            return EmbeddingBlock<Ctx, T>::forward(run, weights, embeddings, saved.entry);
        if (!weights.first_norm) return {x, x, {x}};
        const Matrix input = run.take_input(x.rows, x.cols);
        PlainNorm<Ctx, T>::forward(run, *weights.first_norm, x, input, saved.entry.first_norm);
        return {x, input,
                source_of<Ctx, T>(run, input, *weights.first_norm, saved.entry.first_norm)};
    }
    Constant leave(const StackPass<Ctx, T>& run, const Stream<T, Space>& x) const {
        return stage.is_last() || is_one(run) ? x.input : x.residual;
    }
};

template <class Ctx, class T>
auto StageBlock<Ctx, T>::forward(StackPass<Ctx, T> run, Constant x, Saved& saved) const
    -> Constant {
    const auto first = static_cast<std::size_t>(layers.first);
    saved.layers.resize(weights.layers.size());
    // No later layer has a higher level than the first one.
    if (level_of<Ctx>(run.plan, first) >= Recompute::outputs)
        saved.input_space = run.take(run.own().total, width);
    run.enter(first, saved.input_space);
    Stream<T, Space> stream = enter(run, x, saved);
    for (std::size_t i = 0; i < weights.layers.size(); ++i) {
        run.enter(first + i, saved.input_space);
        stream =
            LayerBlock<Ctx, T>::forward(run, weights.layers[i], stream, Matrix(), saved.layers[i]);
    }
    return leave(run, stream);
}

template <class Ctx, class T>
auto StageBlock<Ctx, T>::evaluate(StackPass<Ctx, T> run, Constant x) const -> Constant {
    const std::int64_t rows = run.own().total;
    const Matrix input = run.take(rows, width);
    const Matrix residual = is_one(run) ? input : run.take(rows, width);
    const auto mark = run.arena.mark();
    // The next layer uses the same memory again, so a layer's output is moved out of it.
    const auto keep = [&](const Stream<T, Space>& stream) {
        kernels::dropout<T>(run.ctx, {}, run.own().coordinates, stream.input, input);
        if (!is_one(run))
            kernels::dropout<T>(run.ctx, {}, run.own().coordinates, stream.residual, residual);
        run.arena.rewind(mark);
    };
    Saved unused;
    run.layer = static_cast<std::size_t>(layers.first);
    keep(enter(run, x, unused));
    for (const auto& layer : weights.layers) {
        typename LayerBlock<Ctx, T>::Saved dropped;
        keep(LayerBlock<Ctx, T>::forward(run, layer, {residual, input}, Matrix(), dropped));
        ++run.layer;
    }
    return leave(run, {residual, input});
}

template <class Ctx, class T>
auto StageBlock<Ctx, T>::backward(StackPass<Ctx, T> run, const Saved& saved, Matrix d_output) const
    -> Matrix {
    StreamGradient<T, Space> d{d_output, {}, {}};
    if (!is_one(run)) d.residual_space = run.take(d_output.rows, d_output.cols);
    if (!is_one(run) && !stage.is_last()) {
        // What came is the gradient of the sum; nobody reads the norm of this stage.
        d = {d.residual_space, d_output, d_output};
        const std::size_t bytes = static_cast<std::size_t>(d.input.rows * d.input.cols) * sizeof(T);
        // The arena gives whole multiples of 64 bytes.
        kernels::fill_zero(run.ctx,
                           View<float, Space>(reinterpret_cast<float*>(d.input.data),
                                              (bytes + sizeof(float) - 1) / sizeof(float)));
    }
    const auto first = static_cast<std::size_t>(layers.first);
    for (std::size_t i = weights.layers.size(); i-- > 0;) {
        run.enter(first + i, saved.input_space);
        LayerBlock<Ctx, T>::backward(run, weights.layers[i], saved.layers[i], d, Matrix());
    }
    if (stage.is_first()) {
        EmbeddingBlock<Ctx, T>::backward(run, weights, saved.entry, d,
                                         {d_embeddings, {}, run.gradients_into});
        return {};
    }
    if (weights.first_norm)
        PlainNorm<Ctx, T>::backward(run, *weights.first_norm, saved.entry.first_norm, d.input,
                                    d.residual, d.input);
    return d.input;
}

}  // namespace lockstep::model
