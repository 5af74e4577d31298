// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/linear.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"
#include "runtime/kernels/relu_mask.hpp"

namespace lockstep::model {

// Calculates y = dropout(f(x W1^T + b)) W2^T + b.
template <class Ctx, class T>
struct FeedForwardBlock {
    using Space = typename Ctx::Space;
    using Weights = FeedForward<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    struct Saved {
        Matrix hidden;     // before the activation; for relu after it
        Matrix activated;  // after the activation; empty: backward calculates it again
        MatrixView<std::uint8_t, Space> mask;  // relu's, or empty (relu_mask.hpp)
    };

    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                          Saved& saved);
    // Calculates all gradients except that of the last bias, which the kernel that made dy has
    // written.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         Constant x, Constant dy, Matrix dx, Into into);
};

template <class Ctx, class T>
kernels::ActivationSite<typename Ctx::Space> activation_site(const StackPass<Ctx, T>& run) {
    return {run.settings.activation, run.dropout(DropoutSite::ffn_hidden), run.batch.coordinates};
}

template <class Ctx, class T>
auto FeedForwardBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                       Constant x, Saved& saved) -> Matrix {
    saved.hidden = run.take(x.rows, weights.up.w.rows);
    const Matrix& hidden = saved.hidden;
    if (run.settings.activation == kernels::Activation::relu)
        saved.activated = hidden;  // relu's backward needs only its output
    else if constexpr (Ctx::keeps_activations)
        saved.activated = run.take(hidden.rows, hidden.cols);
    if (run.state != nullptr) {  // backward follows
        const auto cols =
            kernels::relu_mask_cols<T>(run.ctx, activation_site(run), hidden.rows, hidden.cols);
        saved.mask = run.arena.template take_matrix<std::uint8_t>(hidden.rows, cols);
    }
    const Matrix y = run.take(x.rows, weights.down.w.rows);
    const auto mark = run.arena.mark();
    const Matrix activated =
        saved.activated.empty() ? run.take(hidden.rows, hidden.cols) : saved.activated;
    if (!kernels::linear_relu_forward<T>(run.ctx, x, weights.up.w, weights.up.b, activated,
                                         saved.mask)) {
        saved.mask = {};
        kernels::linear_activation_forward<T>(run.ctx, {.x = x,
                                                        .w = weights.up.w,
                                                        .bias = weights.up.b,
                                                        .site = activation_site(run),
                                                        .hidden = hidden,
                                                        .y = activated});
    }
    LinearBlock<Ctx, T>::forward(run, weights.down, activated, y);
    run.arena.rewind(mark);
    return y;
}

template <class Ctx, class T>
void FeedForwardBlock<Ctx, T>::backward(const StackPass<Ctx, T>& run, const Weights& weights,
                                        const Saved& saved, Constant x, Constant dy, Matrix dx,
                                        Into into) {
    const auto site = activation_site(run);
    const Matrix& hidden = saved.hidden;
    const Matrix d_hidden = run.take(hidden.rows, hidden.cols);
    Matrix activated = saved.activated;
    if (activated.empty()) {
        activated = d_hidden;
        kernels::activation_forward<T>(run.ctx, site.f, site.dropout, site.coordinates, hidden,
                                       activated);
    }
    kernels::linear_backward_weight<T>(run.ctx, activated, dy, weights.down.dw, run.gradients_into);
    if (kernels::linear_relu_backward<T>(run.ctx, dy, weights.down.w, saved.mask, d_hidden)) {
        kernels::linear_backward_parameters<T>(run.ctx, x, d_hidden, weights.up.dw, weights.up.db,
                                               run.gradients_into);
        return kernels::linear_backward_input<T>(run.ctx, d_hidden, weights.up.w, dx, into);
    }
    kernels::linear_activation_backward<T>(run.ctx, {.dz = dy,
                                                     .w = weights.down.w,
                                                     .site = site,
                                                     .hidden = hidden,
                                                     .y = activated,
                                                     .d_hidden = d_hidden,
                                                     .db = weights.up.db,
                                                     .into = run.gradients_into});
    LinearBlock<Ctx, T>::backward_products(run, weights.up, x, d_hidden, dx, into);
}

}  // namespace lockstep::model
