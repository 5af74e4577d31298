// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "model/blocks/linear.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"
#include "runtime/kernels/attention.hpp"

namespace lockstep::model {

// Holds the values that an attention block's backward needs.
template <class T, class Space>
struct AttentionSaved {
    MatrixView<T, Space> q, k, v, attended;
    View<float, Space> log_sum_exp;
};

// Calculates [q k v] = x Wqkv^T + b and y = attention(q, k, v) Wo^T + b.
template <class Ctx, class T>
struct SelfAttentionBlock {
    using Space = typename Ctx::Space;
    using Weights = SelfAttention<T, Space>;
    using Saved = AttentionSaved<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                          Saved& saved);
    // Calculates all gradients except that of out's bias, which the kernel that made dy has
    // written.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         Constant x, Constant dy, Matrix dx, Into into);
};

// Calculates q = x Wq^T + b and y = attention(q, k, v) Wo^T + b. MemoryBlock has made [k v] from
// the encoder's output.
template <class Ctx, class T>
struct CrossAttentionBlock {
    using Space = typename Ctx::Space;
    using Weights = CrossAttention<T, Space>;
    using Saved = AttentionSaved<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                          Matrix kv, Saved& saved);
    // Calculates all gradients except that of out's bias, which the kernel that made dy has
    // written, and that of kv's weight, which is MemoryBlock's. Overwrites d_kv.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         Constant x, Constant dy, Matrix dx, Into into, Matrix d_kv);
};

// Calculates [k v] = memory Wkv^T + b for all layers, side by side: forward takes one product for
// all of them, and backward two for each gradient.
template <class Ctx, class T>
struct MemoryBlock {
    using Space = typename Ctx::Space;
    using Weights = std::vector<Linear<T, Space>>;  // Stack::memory_projections
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    // Returns a matrix in which layer i owns columns [i * 2 d, (i + 1) * 2 d); empty if there are
    // no layers.
    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant memory);
    // Calculates all gradients except those of biases, which the layers' backward has written.
    // dy_last is the gradient of the last layer's columns, dy that of all columns before them.
    // Overwrites d_memory.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, Constant memory,
                         Constant dy, Constant dy_last, Matrix d_memory);
};

// Describes one of a layer's two attentions: its shape, its dropout and its sequences.
template <class Space>
struct AttentionKind {
    const kernels::AttentionShape& shape;
    kernels::Dropout dropout;
    kernels::Sequences<Space> sequences;
};

template <class Ctx, class T>
AttentionKind<typename Ctx::Space> self_attention(const StackPass<Ctx, T>& run) {
    return {run.settings.self_attention, run.dropout(DropoutSite::self_probabilities),
            run.self_sequences()};
}

template <class Ctx, class T>
AttentionKind<typename Ctx::Space> cross_attention(const StackPass<Ctx, T>& run) {
    return {run.settings.cross_attention, run.dropout(DropoutSite::cross_probabilities),
            run.cross_sequences()};
}

// Calculates attended = attention(q, k, v) and returns y = attended Wo^T + b.
template <class Ctx, class T, class Space>
MatrixView<T, Space> attend(const StackPass<Ctx, T>& run, const AttentionKind<Space>& kind,
                            const Linear<T, Space>& out, AttentionSaved<T, Space>& saved) {
    saved.attended = run.take(saved.q.rows, saved.q.cols);
    saved.log_sum_exp = run.take_floats(kind.shape.heads * saved.q.rows);
    kernels::attention_forward<T>(run.ctx, {.shape = kind.shape,
                                            .dropout = kind.dropout,
                                            .sequences = kind.sequences,
                                            .q = saved.q,
                                            .k = saved.k,
                                            .v = saved.v,
                                            .out = saved.attended,
                                            .log_sum_exp = saved.log_sum_exp});
    return LinearBlock<Ctx, T>::forward(run, out, saved.attended);
}

template <class T, class Space>
struct AttentionGradient {
    MatrixView<T, Space> q, k, v;
    kernels::AttentionBiases<Space> biases;
};

// Returns bias number `index` of biases of d elements each, which are stored one after the other.
template <class Space>
View<float, Space> bias_of(View<float, Space> biases, std::size_t index, std::int64_t d) {
    return biases.subview(index * static_cast<std::size_t>(d), static_cast<std::size_t>(d));
}

template <class Ctx, class T, class Space>
void attend_backward(const StackPass<Ctx, T>& run, const AttentionKind<Space>& kind,
                     const Linear<T, Space>& out, const AttentionSaved<T, Space>& saved,
                     MatrixView<const T, Space> dy, const AttentionGradient<T, Space>& d) {
    const auto d_attended = run.take(saved.attended.rows, saved.attended.cols);
    LinearBlock<Ctx, T>::backward_products(run, out, saved.attended, dy, d_attended,
                                           Into::overwrite);
    kernels::attention_backward<T>(run.ctx, {.shape = kind.shape,
                                             .dropout = kind.dropout,
                                             .sequences = kind.sequences,
                                             .q = saved.q,
                                             .k = saved.k,
                                             .v = saved.v,
                                             .out = saved.attended,
                                             .log_sum_exp = saved.log_sum_exp,
                                             .d_out = d_attended,
                                             .dq = d.q,
                                             .dk = d.k,
                                             .dv = d.v,
                                             .biases = d.biases});
}

template <class Ctx, class T>
auto SelfAttentionBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                         Constant x, Saved& saved) -> Matrix {
    const Matrix qkv = LinearBlock<Ctx, T>::forward(run, weights.qkv, x);
    saved.q = qkv.columns(0, x.cols);
    saved.k = qkv.columns(x.cols, x.cols);
    saved.v = qkv.columns(2 * x.cols, x.cols);
    return attend(run, self_attention(run), weights.out, saved);
}

template <class Ctx, class T>
void SelfAttentionBlock<Ctx, T>::backward(const StackPass<Ctx, T>& run, const Weights& weights,
                                          const Saved& saved, Constant x, Constant dy, Matrix dx,
                                          Into into) {
    const std::int64_t d = x.cols;
    const Matrix d_qkv = run.take(x.rows, 3 * d);
    const auto db = weights.qkv.db;
    attend_backward(
        run, self_attention(run), weights.out, saved, dy,
        {d_qkv.columns(0, d),
         d_qkv.columns(d, d),
         d_qkv.columns(2 * d, d),
         {bias_of(db, 0, d), bias_of(db, 1, d), bias_of(db, 2, d), run.gradients_into}});
    LinearBlock<Ctx, T>::backward_products(run, weights.qkv, x, d_qkv, dx, into);
}

template <class Ctx, class T>
auto CrossAttentionBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                          Constant x, Matrix kv, Saved& saved) -> Matrix {
    saved.q = LinearBlock<Ctx, T>::forward(run, weights.q, x);
    saved.k = kv.columns(0, x.cols);
    saved.v = kv.columns(x.cols, x.cols);
    return attend(run, cross_attention(run), weights.out, saved);
}

template <class Ctx, class T>
void CrossAttentionBlock<Ctx, T>::backward(const StackPass<Ctx, T>& run, const Weights& weights,
                                           const Saved& saved, Constant x, Constant dy, Matrix dx,
                                           Into into, Matrix d_kv) {
    const std::int64_t d = x.cols;
    const Matrix d_q = run.take(x.rows, d);
    const auto db = weights.kv.db;
    attend_backward(run, cross_attention(run), weights.out, saved, dy,
                    {d_q,
                     d_kv.columns(0, d),
                     d_kv.columns(d, d),
                     {weights.q.db, bias_of(db, 0, d), bias_of(db, 1, d), run.gradients_into}});
    LinearBlock<Ctx, T>::backward_products(run, weights.q, x, d_q, dx, into);
}

template <class Ctx, class T>
auto MemoryBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                  Constant memory) -> Matrix {
    std::int64_t cols = 0, first = 0;
    for (const auto& part : weights) cols += part.w.rows;
    // Without gaps between its rows: oneDNN has no fast product in bf16 for a result with gaps.
    const Matrix kv = run.take(memory.rows, cols);
    for (const auto& part : weights) {
        LinearBlock<Ctx, T>::forward(run, part, memory, kv.columns(first, part.w.rows));
        first += part.w.rows;
    }
    return kv;
}

template <class Ctx, class T>
void MemoryBlock<Ctx, T>::backward(const StackPass<Ctx, T>& run, const Weights& weights,
                                   Constant memory, Constant dy, Constant dy_last,
                                   Matrix d_memory) {
    Into into = Into::overwrite;
    const auto rows_backward = [&](const auto& part, std::int64_t row, Constant dy_of_rows) {
        if (dy_of_rows.cols == 0) return;
        LinearBlock<Ctx, T>::backward_products(run,
                                               {part.w.rows_from(row, dy_of_rows.cols),
                                                {},
                                                part.dw.rows_from(row, dy_of_rows.cols),
                                                {}},
                                               memory, dy_of_rows, d_memory, into);
        into = Into::add;
    };
    std::int64_t first = 0;
    for (const auto& part : weights) {
        const std::int64_t before = std::min(part.w.rows, dy.cols - first);
        rows_backward(part, 0, dy.columns(first, before));
        if (before < part.w.rows) rows_backward(part, before, dy_last);
        first += before;
    }
}

}  // namespace lockstep::model
