// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/attention_block.hpp"
#include "model/blocks/ffn_block.hpp"
#include "model/blocks/residual_norm.hpp"
#include "runtime/kernels/company.hpp"

namespace lockstep::model {

// A layer: self-attention, cross-attention if the layer has one, and the feed-forward block. A
// residual sum and a norm follow each of them.
template <class Ctx, class T>
struct LayerBlock {
    using Space = typename Ctx::Space;
    using Weights = Layer<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    // Holds what backward needs. If the layer is calculated again (Recompute::layer), only x, kv
    // and after_ffn are valid when forward has ended.
    struct Saved {
        Stream<T, Space> x;
        Matrix kv;
        InputSource<T, Space> cross_input, ffn_input;
        AttentionSaved<T, Space> self_attention, cross_attention;
        typename FeedForwardBlock<Ctx, T>::Saved ffn;
        typename ResidualNorm<Ctx, T>::Saved after_self, after_cross, after_ffn;
    };

    // Attends to the tokens of the batch, and to the encoder's by `kv`.
    struct BatchAttention {
        Matrix kv;

        Matrix self(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                    AttentionSaved<T, Space>& saved) const {
            return SelfAttentionBlock<Ctx, T>::forward(run, weights.self_attention, x, saved);
        }
        Matrix cross(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                     AttentionSaved<T, Space>& saved) const {
            return CrossAttentionBlock<Ctx, T>::forward(run, *weights.cross_attention, x, kv,
                                                        saved);
        }
    };

    // kv and d_kv are the layer's columns of MemoryBlock's matrix and of its gradient; they are
    // empty if the layer has no cross-attention.
    static Stream<T, Space> forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                    Stream<T, Space> x, Matrix kv, Saved& saved) {
        saved.kv = kv;
        return forward(run, weights, x, BatchAttention{kv}, saved);
    }
    // `attention` has the functions of BatchAttention; the decoder's attends to its caches.
    template <class Attention>
    static Stream<T, Space> forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                    Stream<T, Space> x, const Attention& attention, Saved& saved);
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         StreamGradient<T, Space>& d, Matrix d_kv);

private:
    using Sum = ResidualNorm<Ctx, T>;

    // Returns the stream before the feed-forward block.
    template <class Attention>
    static Stream<T, Space> attentions(const StackPass<Ctx, T>& run, const Weights& weights,
                                       Stream<T, Space> x, const Attention& attention,
                                       Saved& saved);
    static void backward_of_kept(const StackPass<Ctx, T>& run, const Weights& weights,
                                 const Saved& saved, StreamGradient<T, Space>& d, Matrix d_kv);
};

template <class Ctx, class T>
template <class Attention>
auto LayerBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                 Stream<T, Space> x, const Attention& attention, Saved& saved)
    -> Stream<T, Space> {
    const Matrix fed = run.take(x.input.rows, x.input.cols);
    saved.after_ffn = Sum::take(run, fed);
    saved.x = x;
    const auto mark = run.arena.mark();
    x = attentions(run, weights, x, attention, saved);
    FeedForwardBlock<Ctx, T>::forward(run, weights.ffn, x.input, fed, saved.ffn);
    x = Sum::forward(run, DropoutSite::ffn_output, weights.after_ffn, x.residual, fed,
                     saved.after_ffn);
    // The new x is in memory that was taken before the mark, and in the shared memory for inputs.
    if (run.recompute == Recompute::layer) run.arena.rewind(mark);
    return x;
}

template <class Ctx, class T>
template <class Attention>
auto LayerBlock<Ctx, T>::attentions(const StackPass<Ctx, T>& run, const Weights& weights,
                                    Stream<T, Space> x, const Attention& attention, Saved& saved)
    -> Stream<T, Space> {
    const Matrix attended = attention.self(run, weights, x.input, saved.self_attention);
    saved.after_self = Sum::take(run, attended);
    x = Sum::forward(run, DropoutSite::self_output, weights.after_self, x.residual, attended,
                     saved.after_self);
    if (weights.cross_attention) {
        saved.cross_input = x.source;
        const Matrix read = attention.cross(run, weights, x.input, saved.cross_attention);
        saved.after_cross = Sum::take(run, read);
        x = Sum::forward(run, DropoutSite::cross_output, weights.after_cross, x.residual, read,
                         saved.after_cross);
    }
    saved.ffn_input = x.source;
    return x;
}

template <class Ctx, class T>
void LayerBlock<Ctx, T>::backward(const StackPass<Ctx, T>& run, const Weights& weights,
                                  const Saved& saved, StreamGradient<T, Space>& d, Matrix d_kv) {
    if (run.recompute < Recompute::layer) return backward_of_kept(run, weights, saved, d, d_kv);
    const auto mark = run.arena.mark();
    Saved again = saved;
    {
        const kernels::ProductsOfForward<Ctx> same_bits(run.ctx);
        attentions(run, weights, stream_again(run, saved.x), BatchAttention{saved.kv}, again);
    }
    // The last residual sum was kept, so the feed-forward block's second product is not needed.
    backward_of_kept(run, weights, again, d, d_kv);
    run.arena.rewind(mark);
}

template <class Ctx, class T>
void LayerBlock<Ctx, T>::backward_of_kept(const StackPass<Ctx, T>& run, const Weights& weights,
                                          const Saved& saved, StreamGradient<T, Space>& d,
                                          Matrix d_kv) {
    const Into into = Sum::branch_into(run);
    const auto mark = run.arena.mark();
    const Constant d_fed = Sum::backward(run, DropoutSite::ffn_output, weights.after_ffn,
                                         saved.after_ffn, d, weights.ffn.down.db);
    FeedForwardBlock<Ctx, T>::backward(run, weights.ffn, saved.ffn,
                                       input_again(run, saved.ffn_input), d_fed, d.input, into);
    run.arena.rewind(mark);
    if (weights.cross_attention) {
        const Constant d_read =
            Sum::backward(run, DropoutSite::cross_output, weights.after_cross, saved.after_cross, d,
                          weights.cross_attention->out.db);
        CrossAttentionBlock<Ctx, T>::backward(run, *weights.cross_attention, saved.cross_attention,
                                              input_again(run, saved.cross_input), d_read, d.input,
                                              into, d_kv);
        run.arena.rewind(mark);
    }
    const Constant d_attended = Sum::backward(run, DropoutSite::self_output, weights.after_self,
                                              saved.after_self, d, weights.self_attention.out.db);
    SelfAttentionBlock<Ctx, T>::backward(run, weights.self_attention, saved.self_attention,
                                         input_again(run, saved.x.source), d_attended, d.input,
                                         into);
    run.arena.rewind(mark);
}

}  // namespace lockstep::model
