// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/ffn_block.hpp"
#include "runtime/kernels/activation.hpp"

namespace lockstep::model {

// relu's backward needs its output alone, which takes the input's place. Other outputs are written
// again in backward, which costs less than the memory to keep them.
template <class Ctx, class T>
bool activates_in_place(const Run<Ctx, T>& run) {
    return run.settings.activation == kernels::Activation::relu;
}

template <class Ctx, class T, class Space>
void activate(const Run<Ctx, T>& run, MatrixView<const T, Space> hidden, MatrixView<T, Space> y) {
    kernels::activation_forward<T>(run.ctx, run.settings.activation,
                                   run.dropout(DropoutPlace::ffn_hidden), run.batch.places, hidden,
                                   y);
}

template <class Ctx, class T>
auto FeedForwardBlock<Ctx, T>::forward(const Run<Ctx, T>& run, const Weights& weights, Constant x,
                                       Saved& saved) -> Matrix {
    saved.hidden = LinearBlock<Ctx, T>::forward(run, weights.up, x);
    const Matrix& hidden = saved.hidden;
    const Matrix y = run.take(x.rows, weights.down.w.rows);
    const auto mark = run.arena.mark();
    const Matrix activated = activates_in_place(run) ? hidden : run.take(hidden.rows, hidden.cols);
    activate<Ctx, T, Space>(run, hidden, activated);
    LinearBlock<Ctx, T>::forward(run, weights.down, activated, y);
    run.arena.rewind(mark);
    return y;
}

template <class Ctx, class T>
void FeedForwardBlock<Ctx, T>::backward(const Run<Ctx, T>& run, const Weights& weights,
                                        const Saved& saved, Constant x, Constant dy, Matrix dx,
                                        Into into) {
    const kernels::Dropout site = run.dropout(DropoutPlace::ffn_hidden);
    const Matrix& hidden = saved.hidden;
    const Matrix d_hidden = run.take(hidden.rows, hidden.cols);
    if (activates_in_place(run)) {
        LinearBlock<Ctx, T>::backward(run, weights.down, hidden, dy, d_hidden, Into::overwrite);
        kernels::relu_backward<T>(run.ctx, site, hidden, d_hidden, d_hidden);
    } else {
        const Matrix activated = d_hidden;
        activate<Ctx, T, Space>(run, hidden, activated);
        LinearBlock<Ctx, T>::backward(run, weights.down, activated, dy, d_hidden, Into::overwrite);
        kernels::activation_backward<T>(run.ctx, run.settings.activation, site, run.batch.places,
                                        hidden, d_hidden, d_hidden);
    }
    LinearBlock<Ctx, T>::backward(run, weights.up, x, d_hidden, dx, into);
}

}  // namespace lockstep::model
