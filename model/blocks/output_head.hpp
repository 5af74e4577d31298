// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "model/blocks/stack_pass.hpp"
#include "runtime/core/named_range.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/softmax_xent.hpp"
#include "runtime/train/forward_backward.hpp"

namespace lockstep::model {

// Calculates logits = x E^T + b with the head's matrix E, and the loss. The bias b is not a
// parameter: it excludes a class by minus infinity, or is empty. The work is done in chunks of
// tokens, so that the whole matrix of logits [tokens, vocabulary] never exists.
template <class Ctx, class T>
struct OutputHead {
    using Space = typename Ctx::Space;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;
    using Bias = View<const T, Space>;
    using Labels = View<const std::int32_t, Space>;

    // Overwrites dx, and overwrites or adds to d_embeddings, unless it is empty, as `into` says;
    // both are scaled by state->loss_seed. Adds the loss to *sums.
    static void train(Ctx& ctx, device::Arena<Space>& arena, const kernels::StepState* state,
                      Constant embeddings, Bias bias, Constant x, Labels labels,
                      const kernels::LossTerms& terms, Matrix dx,
                      MatrixView<float, Space> d_embeddings, kernels::Into into,
                      kernels::LossSums* sums, train::ModelSpans& spans);
    static void evaluate(Ctx& ctx, device::Arena<Space>& arena, Constant embeddings, Bias bias,
                         Constant x, Labels labels, kernels::LossSums* losses);
};

// Returns the number of rows in a chunk: all chunks but the last have the same size, and there are
// as few as keep the logits within `elements` if the vocabulary allows. Small chunks read the table
// and its gradient many times, and products of few rows are slow. Beyond 512 rows this matters
// little, and the logits of an eighth of all rows take about as much memory as one layer keeps.
inline std::int64_t chunk_rows(std::int64_t total, std::int64_t vocabulary, std::int64_t elements) {
    constexpr std::int64_t smallest = 256, multiple = 32;
    const std::int64_t enough = std::max<std::int64_t>(512, total / 8);
    const std::int64_t most = std::max(std::min(elements / vocabulary, enough), smallest);
    const std::int64_t chunks = (total + most - 1) / most;
    const std::int64_t rows = (total + chunks - 1) / chunks;
    return std::min(total, (rows + multiple - 1) / multiple * multiple);
}

// Calls work(first, rows, logits) for each chunk.
template <class T, class Ctx, class Work>
void by_chunks(device::Arena<typename Ctx::Space>& arena, std::int64_t total,
               std::int64_t vocabulary, const Work& work) {
    if (total == 0) return;
    const std::int64_t most = chunk_rows(total, vocabulary, Ctx::max_logits);
    // Tensor cores are slow if a row does not begin at a multiple of 16 bytes, and vocabulary sizes
    // are often odd, so rows are padded.
    constexpr std::int64_t multiple = 8;
    const auto mark = arena.mark();
    const auto logits =
        arena.template take_matrix<T>(most, (vocabulary + multiple - 1) / multiple * multiple)
            .columns(0, vocabulary);
    for (std::int64_t first = 0; first < total; first += most) {
        const std::int64_t rows = std::min(most, total - first);
        work(first, rows, logits.rows_from(0, rows));
    }
    arena.rewind(mark);
}

template <class Ctx, class T>
void OutputHead<Ctx, T>::train(Ctx& ctx, device::Arena<Space>& arena,
                               const kernels::StepState* state, Constant embeddings, Bias bias,
                               Constant x, Labels labels, const kernels::LossTerms& terms,
                               Matrix dx, MatrixView<float, Space> d_embeddings, kernels::Into into,
                               kernels::LossSums* sums, train::ModelSpans& spans) {
    const NamedRange range("loss");
    device::Stopwatch<Ctx> watch(ctx);
    by_chunks<T, Ctx>(
        arena, x.rows, embeddings.rows, [&](std::int64_t first, std::int64_t rows, Matrix logits) {
            const Constant x_chunk = x.rows_from(first, rows);
            kernels::linear_forward<T>(ctx, x_chunk, embeddings, bias, logits);
            const Matrix d_logits = logits;
            kernels::softmax_xent_forward_backward<T>(ctx, state, d_logits,
                                                      labels.subview(first, rows), terms, sums);
            spans.forward.push_back(watch.lap());
            kernels::linear_backward_input<T>(ctx, d_logits, embeddings, dx.rows_from(first, rows),
                                              kernels::Into::overwrite);
            if (!d_embeddings.empty())
                kernels::linear_backward_weight<T>(ctx, x_chunk, d_logits, d_embeddings,
                                                   first == 0 ? into : kernels::Into::add);
            spans.backward.push_back(watch.lap());
        });
}

template <class Ctx, class T>
void OutputHead<Ctx, T>::evaluate(Ctx& ctx, device::Arena<Space>& arena, Constant embeddings,
                                  Bias bias, Constant x, Labels labels, kernels::LossSums* losses) {
    by_chunks<T, Ctx>(
        arena, x.rows, embeddings.rows, [&](std::int64_t first, std::int64_t rows, Matrix logits) {
            kernels::linear_forward<T>(ctx, x.rows_from(first, rows), embeddings, bias, logits);
            kernels::softmax_xent_forward<T>(ctx, logits, labels.subview(first, rows), 0,
                                             losses + first);
        });
}

}  // namespace lockstep::model
