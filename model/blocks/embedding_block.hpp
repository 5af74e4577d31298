// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/residual_norm.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"
#include "runtime/kernels/dropout.hpp"
#include "runtime/kernels/embedding.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::model {

// Tells where the input's part of the embedding table's gradient is added: token t's part to row t,
// or to row slots[t] if there are slots.
template <class Space>
struct InputGradient {
    MatrixView<float, Space> rows;
    View<const std::int32_t, Space> slots = {};
    kernels::Into into = kernels::Into::add;  // the output's part is there unless it has a table
};

// Calculates from tokens the stream that layer 0 reads. Let e = scale * embeddings[token] and p =
// positions[position]:
//     EmbeddingNorm::none:              x = dropout(e + p)
//     EmbeddingNorm::after_positions:   x = dropout(norm(e + p))
//     EmbeddingNorm::before_positions:  x = dropout(norm(e) + p)
// If norms come before the branches, layer 0 reads norm1(x).
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

template <class Ctx, class T>
bool norms_before_positions(const StackPass<Ctx, T>& run) {
    return run.settings.embedding_norm == EmbeddingNorm::before_positions;
}

// Calculates y = scale * embeddings[token] + positions[position].
template <class Ctx, class T>
void embed(const StackPass<Ctx, T>& run, MatrixView<const T, typename Ctx::Space> embeddings,
           MatrixView<const T, typename Ctx::Space> positions, float scale,
           MatrixView<T, typename Ctx::Space> y) {
    kernels::embedding_forward<T>(run.ctx, {.tokens = run.own().tokens,
                                            .positions = run.own().coordinates.positions,
                                            .real = run.own().real(),
                                            .scale = scale,
                                            .table = embeddings,
                                            .position_table = positions,
                                            .y = y});
}

template <class Ctx, class T, class Space>
MatrixView<T, Space> normalised(const StackPass<Ctx, T>& run, const Norm<T, Space>& weights,
                                MatrixView<T, Space> x, NormSaved<T, Space>& saved) {
    const auto y = run.take(x.rows, x.cols);
    PlainNorm<Ctx, T>::forward(run, weights, x, y, saved);
    return y;
}

template <class Ctx, class T>
auto EmbeddingBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                     Constant embeddings, Saved& saved) -> Stream<T, Space> {
    const float scale = run.settings.embedding_scale;
    Matrix x = run.take(run.own().total, embeddings.cols);
    if (weights.embedding_norm && norms_before_positions(run)) {
        embed(run, embeddings, weights.no_positions, scale, x);
        const Matrix positions = run.take(x.rows, x.cols);
        embed(run, embeddings, weights.positions, 0, positions);
        x = normalised(run, *weights.embedding_norm, x, saved.embedding_norm);
        kernels::add<T>(run.ctx, positions, x);
    } else {
        embed(run, embeddings, weights.positions, scale, x);
        if (weights.embedding_norm) {
            x = normalised(run, *weights.embedding_norm, x, saved.embedding_norm);
        }
    }
    const auto dropout = run.dropout(DropoutSite::embedding);
    if (dropout.active()) kernels::dropout<T>(run.ctx, dropout, run.own().coordinates, x, x);
    if (!weights.first_norm) return {x, x, {x}};
    const Matrix input = run.take_input(x.rows, x.cols);
    PlainNorm<Ctx, T>::forward(run, *weights.first_norm, x, input, saved.first_norm);
    return {x, input, source_of<Ctx, T>(run, input, *weights.first_norm, saved.first_norm)};
}

template <class Ctx, class T>
void EmbeddingBlock<Ctx, T>::backward(const StackPass<Ctx, T>& run, const Weights& weights,
                                      const Saved& saved, StreamGradient<T, Space> d,
                                      const InputGradient<Space>& input) {
    const Matrix dx = d.input;
    if (weights.first_norm) {
        PlainNorm<Ctx, T>::backward(run, *weights.first_norm, saved.first_norm, dx, d.residual, dx);
    }
    const auto dropout = run.dropout(DropoutSite::embedding);
    if (dropout.active()) kernels::dropout<T>(run.ctx, dropout, run.own().coordinates, dx, dx);

    const auto to_positions = [&] {
        if (weights.d_positions.empty()) return;
        if (run.gradients_into == kernels::Into::overwrite && !weights.d_unused_positions.empty())
            kernels::fill_zero(run.ctx, weights.d_unused_positions);
        if (run.tensor == nullptr)
            return kernels::position_backward<T>(run.ctx, run.batch.offsets, dx,
                                                 weights.d_positions, run.gradients_into);
        // A part of the tokens may begin inside of a sequence.
        kernels::embedding_backward<T>(run.ctx, {.tokens = run.own().coordinates.positions,
                                                 .real = run.own().real(),
                                                 .scale = 1,
                                                 .dy = dx,
                                                 .d_table = weights.d_positions,
                                                 .into = run.gradients_into});
    };
    if (norms_before_positions(run)) to_positions();
    if (weights.embedding_norm) {
        PlainNorm<Ctx, T>::backward(run, *weights.embedding_norm, saved.embedding_norm, dx, {}, dx);
    }
    if (!norms_before_positions(run)) to_positions();
    kernels::embedding_backward<T>(run.ctx, {.tokens = run.own().tokens,
                                             .real = run.own().real(),
                                             .scale = run.settings.embedding_scale,
                                             .dy = dx,
                                             .d_table = input.rows,
                                             .into = input.into,
                                             .slots = input.slots});
}

}  // namespace lockstep::model
