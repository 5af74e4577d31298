// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/ffn_block.hpp"
#include "runtime/kernels/activation.hpp"

namespace lockstep::model {

template <class Ctx, class T>
auto FeedForwardBlock<Ctx, T>::forward(const Run<Ctx, T>& run, const Weights& weights, Constant x,
                                       Saved& saved) -> Matrix {
    saved.hidden = LinearBlock<Ctx, T>::forward(run, weights.up, x);
    // relu's backward needs its output alone, which then takes the input's place.
    const bool in_place = run.settings.activation == kernels::Activation::relu;
    saved.activated = in_place ? saved.hidden : run.take(saved.hidden.rows, saved.hidden.cols);
    kernels::activation_forward<T>(run.ctx, run.settings.activation,
                                   run.dropout(DropoutPlace::ffn_hidden), run.batch.places,
                                   saved.hidden, saved.activated);
    return LinearBlock<Ctx, T>::forward(run, weights.down, saved.activated);
}

template <class Ctx, class T>
void FeedForwardBlock<Ctx, T>::backward(const Run<Ctx, T>& run, const Weights& weights,
                                        const Saved& saved, Constant x, Constant dy, Matrix dx,
                                        Into into) {
    const Matrix d_hidden = run.take(saved.hidden.rows, saved.hidden.cols);
    LinearBlock<Ctx, T>::backward(run, weights.down, saved.activated, dy, d_hidden,
                                  Into::overwrite);
    const kernels::Dropout site = run.dropout(DropoutPlace::ffn_hidden);
    if (run.settings.activation == kernels::Activation::relu) {
        kernels::relu_backward<T>(run.ctx, site, saved.activated, d_hidden, d_hidden);
    } else {
        kernels::activation_backward<T>(run.ctx, run.settings.activation, site, run.batch.places,
                                        saved.hidden, d_hidden, d_hidden);
    }
    LinearBlock<Ctx, T>::backward(run, weights.up, x, d_hidden, dx, into);
}

}  // namespace lockstep::model
