// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/ffn_block.hpp"
#include "runtime/kernels/linear_activation.hpp"

namespace lockstep::model {

// relu's backward needs its output alone, which takes the input's place. Other outputs are written
// again in backward, which costs less than the memory to keep them.
template <class Ctx, class T>
bool activates_in_place(const Run<Ctx, T>& run) {
    return run.settings.activation == kernels::Activation::relu;
}

template <class Ctx, class T>
kernels::ActivationSite<typename Ctx::Space> activation_site(const Run<Ctx, T>& run) {
    return {run.settings.activation, run.dropout(DropoutPlace::ffn_hidden), run.batch.places};
}

template <class Ctx, class T>
auto FeedForwardBlock<Ctx, T>::forward(const Run<Ctx, T>& run, const Weights& weights, Constant x,
                                       Saved& saved) -> Matrix {
    saved.hidden = run.take(x.rows, weights.up.w.rows);
    const Matrix& hidden = saved.hidden;
    const Matrix y = run.take(x.rows, weights.down.w.rows);
    const auto mark = run.arena.mark();
    const Matrix activated = activates_in_place(run) ? hidden : run.take(hidden.rows, hidden.cols);
    kernels::linear_activation_forward<T>(run.ctx, x, weights.up.w, weights.up.b,
                                          activation_site(run), hidden, activated);
    LinearBlock<Ctx, T>::forward(run, weights.down, activated, y);
    run.arena.rewind(mark);
    return y;
}

template <class Ctx, class T>
void FeedForwardBlock<Ctx, T>::backward(const Run<Ctx, T>& run, const Weights& weights,
                                        const Saved& saved, Constant x, Constant dy, Matrix dx,
                                        Into into) {
    const auto site = activation_site(run);
    const Matrix& hidden = saved.hidden;
    const Matrix d_hidden = run.take(hidden.rows, hidden.cols);
    const Matrix activated = activates_in_place(run) ? hidden : d_hidden;
    if (!activates_in_place(run))
        kernels::activation_forward<T>(run.ctx, site.f, site.dropout, site.places, hidden,
                                       activated);
    LinearBlock<Ctx, T>::backward_weights(run, weights.down, activated, dy);
    kernels::linear_activation_backward<T>(run.ctx, dy, weights.down.w, site, hidden, activated,
                                           d_hidden);
    LinearBlock<Ctx, T>::backward(run, weights.up, x, d_hidden, dx, into);
}

}  // namespace lockstep::model
