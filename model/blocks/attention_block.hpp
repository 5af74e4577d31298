// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "model/blocks/linear.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/head_norm.hpp"
#include "runtime/kernels/rotary.hpp"

namespace lockstep::model {

// Holds the values that an attention block's backward needs.
template <class T, class Space>
struct AttentionSaved {
    MatrixView<T, Space> q, k, v, attended;
    View<float, Space> log_sum_exp;
    // With norms of heads: what they read, queries beside keys.
    MatrixView<T, Space> raw = {};
    View<float, Space> q_rstd = {}, k_rstd = {};
};

// Calculates [q k v] = x Wqkv^T + b and y = attention(q, k, v) Wo^T + b. If the model has norms of
// heads or rotary positions, attention reads the heads of q and k normed and turned.
template <class Ctx, class T>
struct SelfAttentionBlock {
    using Space = typename Ctx::Space;
    using Weights = SelfAttention<T, Space>;
    using Saved = AttentionSaved<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                          Saved& saved);
    // Makes the queries, keys and values that attention reads.
    static void project(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                        Saved& saved);
    // Calculates all gradients except that of out's bias, which the kernel that made dy has
    // written.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         Constant x, Constant dy, Matrix dx, Into into) {
        run.backward_of_all(x, dy, dx, into, [&](auto all_x, auto all_dy, auto all_dx, Into to) {
            backward_of_rows(run, weights, saved, all_x, all_dy, all_dx, to);
        });
    }

private:
    static void backward_of_rows(const StackPass<Ctx, T>& run, const Weights& weights,
                                 const Saved& saved, Constant x, Constant dy, Matrix dx, Into into);
    static bool changes_heads(const Weights& weights) noexcept {
        return !weights.q_norm.gamma.empty() || !weights.frequencies.empty();
    }
    static void turn(const StackPass<Ctx, T>& run, const Weights& weights, kernels::Turn turn,
                     Matrix heads);
    // Norms the heads of q and k to memory of their own, because backward needs what they were.
    static void norm_heads(const StackPass<Ctx, T>& run, const Weights& weights, Saved& saved);
    // Turns gradients of what attention read into those of what the product wrote, in place.
    static void backward_of_heads(const StackPass<Ctx, T>& run, const Weights& weights,
                                  const Saved& saved, Matrix d_heads);
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
                         Constant x, Constant dy, Matrix dx, Into into, Matrix d_kv) {
        run.backward_of_all(x, dy, dx, into, [&](auto all_x, auto all_dy, auto all_dx, Into to) {
            backward_of_rows(run, weights, saved, all_x, all_dy, all_dx, to, d_kv);
        });
    }

private:
    static void backward_of_rows(const StackPass<Ctx, T>& run, const Weights& weights,
                                 const Saved& saved, Constant x, Constant dy, Matrix dx, Into into,
                                 Matrix d_kv);
};

// Calculates [k v] = memory Wkv^T + b for all layers, side by side: forward takes one product for
// all of them, and backward two for each gradient.
template <class Ctx, class T>
struct MemoryBlock {
    using Space = typename Ctx::Space;
    using Weights = std::vector<Linear<T, Space>>;  // Stack::memory_projections
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    // Returns a matrix in which layer i owns columns [i * w, (i + 1) * w), w being
    // Widths::key_value(); empty if there are no layers.
    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant memory);
    // Calculates all gradients except those of biases, which the layers' backward has written.
    // dy_last is the gradient of the last layer's columns, dy that of all columns before them.
    // Overwrites d_memory.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, Constant memory,
                         Constant dy, Constant dy_last, Matrix d_memory) {
        if (run.tensor == nullptr)
            return backward_of_rows(run, weights, memory, dy, dy_last, d_memory);
        const auto mark = run.arena.mark();
        const Matrix all = run.take(run.all_rows(d_memory.rows), d_memory.cols);
        backward_of_rows(run, weights, run.gather(memory), dy, dy_last, all);
        run.scatter_sums(all, d_memory, Into::overwrite);
        run.arena.rewind(mark);
    }

private:
    static void backward_of_rows(const StackPass<Ctx, T>& run, const Weights& weights,
                                 Constant memory, Constant dy, Constant dy_last, Matrix d_memory);
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
    return LinearBlock<Ctx, T>::forward_to_own(run, out, saved.attended);
}

template <class T, class Space>
struct AttentionGradient {
    MatrixView<T, Space> q, k, v;
    kernels::AttentionBiases<Space> biases;
};

// Returns the biases of some of a matrix's columns.
template <class Space>
View<float, Space> bias_of(View<float, Space> biases, std::int64_t first, std::int64_t columns) {
    return biases.subview(static_cast<std::size_t>(first), static_cast<std::size_t>(columns));
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
void SelfAttentionBlock<Ctx, T>::turn(const StackPass<Ctx, T>& run, const Weights& weights,
                                      kernels::Turn turn, Matrix heads) {
    if (weights.frequencies.empty()) return;
    kernels::rotate<T>(run.ctx, {.positions = run.batch.coordinates.positions,
                                 .frequencies = weights.frequencies,
                                 .scale = run.settings.rotary_scale,
                                 .turn = turn,
                                 .head_dim = run.settings.self_attention.head_dim,
                                 .x = heads});
}

template <class Ctx, class T>
void SelfAttentionBlock<Ctx, T>::norm_heads(const StackPass<Ctx, T>& run, const Weights& weights,
                                            Saved& saved) {
    const Widths& widths = run.settings.widths;
    const std::int64_t q = widths.q(), kv = widths.kv();
    const Matrix normed = run.take(saved.raw.rows, q + kv);
    saved.q = normed.columns(0, q);
    saved.k = normed.columns(q, kv);
    saved.q_rstd = run.take_floats(normed.rows * widths.heads);
    saved.k_rstd = run.take_floats(normed.rows * widths.kv_heads);
    const auto norm = [&](Constant x, const Norm<T, Space>& weight, Matrix y,
                          View<float, Space> rstd) {
        kernels::head_norm_forward<T>(run.ctx, {.epsilon = run.settings.norm_epsilon,
                                                .head_dim = run.settings.self_attention.head_dim,
                                                .x = x,
                                                .gamma = weight.gamma,
                                                .y = y,
                                                .rstd = rstd});
    };
    norm(saved.raw.columns(0, q), weights.q_norm, saved.q, saved.q_rstd);
    norm(saved.raw.columns(q, kv), weights.k_norm, saved.k, saved.k_rstd);
}

template <class Ctx, class T>
void SelfAttentionBlock<Ctx, T>::project(const StackPass<Ctx, T>& run, const Weights& weights,
                                         Constant x, Saved& saved) {
    const Matrix qkv = LinearBlock<Ctx, T>::forward_of_all(run, weights.qkv, x);
    const Widths& widths = run.settings.widths;
    const std::int64_t q = widths.q(), kv = widths.kv();
    saved.q = qkv.columns(0, q);
    saved.k = qkv.columns(q, kv);
    saved.v = qkv.columns(q + kv, kv);
    if (!weights.q_norm.gamma.empty()) {
        saved.raw = qkv.columns(0, q + kv);
        norm_heads(run, weights, saved);
    }
    // The keys lie behind the queries.
    turn(run, weights, kernels::Turn::forward,
         {saved.q.data, saved.q.rows, q + kv, saved.q.stride});
}

template <class Ctx, class T>
auto SelfAttentionBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                         Constant x, Saved& saved) -> Matrix {
    project(run, weights, x, saved);
    return attend(run, self_attention(run), weights.out, saved);
}

template <class Ctx, class T>
void SelfAttentionBlock<Ctx, T>::backward_of_heads(const StackPass<Ctx, T>& run,
                                                   const Weights& weights, const Saved& saved,
                                                   Matrix d_heads) {
    turn(run, weights, kernels::Turn::backward, d_heads);
    if (weights.q_norm.gamma.empty()) return;
    const std::int64_t q = run.settings.widths.q(), kv = run.settings.widths.kv();
    const auto norm = [&](std::int64_t first, std::int64_t columns, const Norm<T, Space>& weight,
                          View<const float, Space> rstd) {
        const Matrix d = d_heads.columns(first, columns);
        kernels::head_norm_backward<T>(run.ctx, {.head_dim = run.settings.self_attention.head_dim,
                                                 .dy = d,
                                                 .x = saved.raw.columns(first, columns),
                                                 .rstd = rstd,
                                                 .gamma = weight.gamma,
                                                 .dx = d,
                                                 .dgamma = weight.dgamma,
                                                 .into = run.gradients_into});
    };
    norm(0, q, weights.q_norm, saved.q_rstd);
    norm(q, kv, weights.k_norm, saved.k_rstd);
}

template <class Ctx, class T>
void SelfAttentionBlock<Ctx, T>::backward_of_rows(const StackPass<Ctx, T>& run,
                                                  const Weights& weights, const Saved& saved,
                                                  Constant x, Constant dy, Matrix dx, Into into) {
    const std::int64_t q = run.settings.widths.q(), kv = run.settings.widths.kv();
    const Matrix d_qkv = run.take(x.rows, run.settings.widths.qkv());
    const auto db = weights.qkv.db;
    AttentionGradient<T, Space> d{
        d_qkv.columns(0, q), d_qkv.columns(q, kv), d_qkv.columns(q + kv, kv), {}};
    // Attention sums the gradients that it makes. The bias's are those before the heads changed.
    const bool changed = changes_heads(weights);
    if (!changed && !db.empty())
        d.biases = {bias_of(db, 0, q), bias_of(db, q, kv), bias_of(db, q + kv, kv),
                    run.gradients_into};
    attend_backward(run, self_attention(run), weights.out, saved, dy, d);
    if (changed) backward_of_heads(run, weights, saved, d_qkv.columns(0, q + kv));
    if (changed && !db.empty())
        return LinearBlock<Ctx, T>::backward(run, weights.qkv, x, d_qkv, dx, into);
    LinearBlock<Ctx, T>::backward_products(run, weights.qkv, x, d_qkv, dx, into);
}

template <class Ctx, class T>
auto CrossAttentionBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                          Constant x, Matrix kv, Saved& saved) -> Matrix {
    saved.q = LinearBlock<Ctx, T>::forward_of_all(run, weights.q, x);
    const std::int64_t width = run.settings.widths.kv();
    saved.k = kv.columns(0, width);
    saved.v = kv.columns(width, width);
    return attend(run, cross_attention(run), weights.out, saved);
}

template <class Ctx, class T>
void CrossAttentionBlock<Ctx, T>::backward_of_rows(const StackPass<Ctx, T>& run,
                                                   const Weights& weights, const Saved& saved,
                                                   Constant x, Constant dy, Matrix dx, Into into,
                                                   Matrix d_kv) {
    const std::int64_t kv = run.settings.widths.kv();
    const Matrix d_q = run.take(x.rows, run.settings.widths.q());
    const auto db = weights.kv.db;
    attend_backward(run, cross_attention(run), weights.out, saved, dy,
                    {d_q,
                     d_kv.columns(0, kv),
                     d_kv.columns(kv, kv),
                     {weights.q.db, bias_of(db, 0, kv), bias_of(db, kv, kv), run.gradients_into}});
    LinearBlock<Ctx, T>::backward_products(run, weights.q, x, d_q, dx, into);
}

template <class Ctx, class T>
auto MemoryBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                  Constant memory) -> Matrix {
    std::int64_t cols = 0, first = 0;
    for (const auto& part : weights) cols += part.w.rows;
    // Without gaps between its rows: oneDNN has no fast product in bf16 for a result with gaps.
    const Matrix kv = run.take(run.all_rows(memory.rows), cols);
    const auto mark = run.arena.mark();
    const Constant all = run.gather(memory);
    for (const auto& part : weights) {
        LinearBlock<Ctx, T>::forward(run, part, all, kv.columns(first, part.w.rows));
        first += part.w.rows;
    }
    run.arena.rewind(mark);
    return kv;
}

template <class Ctx, class T>
void MemoryBlock<Ctx, T>::backward_of_rows(const StackPass<Ctx, T>& run, const Weights& weights,
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
