// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/attention_block.hpp"
#include "model/blocks/ffn_block.hpp"
#include "model/blocks/residual_norm.hpp"

namespace lockstep::model {

// A layer: self-attention, cross-attention if the layer has one, and the feed-forward block. A
// residual sum and a norm follow each of them.
template <class Ctx, class T>
struct LayerBlock {
    using Space = typename Ctx::Space;
    using Weights = Layer<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    // Holds everything that backward needs. It can be dropped, and a second call of forward makes
    // it again.
    struct Saved {
        InputSource<T, Space> self_input, cross_input, ffn_input;
        AttentionSaved<T, Space> self_attention, cross_attention;
        typename FeedForwardBlock<Ctx, T>::Saved ffn;
        typename ResidualNorm<Ctx, T>::Saved after_self, after_cross, after_ffn;
    };

    // kv and d_kv are the layer's columns of MemoryBlock's matrix and of its gradient; they are
    // empty if the layer has no cross-attention.
    static Stream<T, Space> forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                    Stream<T, Space> x, Matrix kv, Saved& saved);
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         StreamGradient<T, Space>& d, Matrix d_kv);
};

template <class Ctx, class T>
auto LayerBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                 Stream<T, Space> x, Matrix kv, Saved& saved) -> Stream<T, Space> {
    using Sum = ResidualNorm<Ctx, T>;
    saved.self_input = x.source;
    const Matrix attended = SelfAttentionBlock<Ctx, T>::forward(run, weights.self_attention,
                                                                x.input, saved.self_attention);
    x = Sum::forward(run, DropoutSite::self_output, weights.after_self, x.residual, attended,
                     saved.after_self);
    if (weights.cross_attention) {
        saved.cross_input = x.source;
        const Matrix read = CrossAttentionBlock<Ctx, T>::forward(
            run, *weights.cross_attention, x.input, kv, saved.cross_attention);
        x = Sum::forward(run, DropoutSite::cross_output, weights.after_cross, x.residual, read,
                         saved.after_cross);
    }
    saved.ffn_input = x.source;
    const Matrix fed = FeedForwardBlock<Ctx, T>::forward(run, weights.ffn, x.input, saved.ffn);
    return Sum::forward(run, DropoutSite::ffn_output, weights.after_ffn, x.residual, fed,
                        saved.after_ffn);
}

template <class Ctx, class T>
void LayerBlock<Ctx, T>::backward(const StackPass<Ctx, T>& run, const Weights& weights,
                                  const Saved& saved, StreamGradient<T, Space>& d, Matrix d_kv) {
    using Sum = ResidualNorm<Ctx, T>;
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
                                         input_again(run, saved.self_input), d_attended, d.input,
                                         into);
    run.arena.rewind(mark);
}

}  // namespace lockstep::model
