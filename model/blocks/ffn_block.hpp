// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/linear.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"
#include "runtime/kernels/company.hpp"
#include "runtime/kernels/gated_activation.hpp"
#include "runtime/kernels/relu_mask.hpp"

namespace lockstep::model {

// Calculates y = dropout(f(x W1^T + b)) W2^T + b, or with a gate y = (f(g) * u) W2^T + b of
// [g u] = x W1^T + b.
template <class Ctx, class T>
struct FeedForwardBlock {
    using Space = typename Ctx::Space;
    using Weights = FeedForward<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    struct Saved {
        Matrix hidden;     // before the activation, for relu after it; empty: made again
        Matrix activated;  // after the activation; empty: backward calculates it again
        MatrixView<std::uint8_t, Space> mask;  // relu's, or empty (relu_mask.hpp)
    };

    // The first one takes the result's memory from the arena; the second one writes to y.
    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                          Saved& saved) {
        const Matrix y = run.take(x.rows, weights.down.w.rows);
        forward(run, weights, x, y, saved);
        return y;
    }
    static void forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x, Matrix y,
                        Saved& saved);
    // Calculates all gradients except that of the last bias, which the kernel that made dy has
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
    static Saved take(const StackPass<Ctx, T>& run, std::int64_t rows, std::int64_t cols);
    // Writes to activated, to made.hidden, and to made.mask unless that has to be empty.
    static void activate(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                         Matrix activated, Saved& made);
    // The kernels that calculate a product and an activation know no adapters. Only families whose
    // backward reads `hidden` have any.
    static bool has_adapters(const Weights& weights) noexcept {
        return !weights.up.adapters.empty() || !weights.down.adapters.empty();
    }
    // Returns the columns of what the second product reads.
    static std::int64_t inner(const Weights& weights) noexcept { return weights.down.w.cols; }
    // Writes the gradient of what the activation reads, which may be the memory of `activated`.
    static void backward_of_adapted(const StackPass<Ctx, T>& run, const Weights& weights,
                                    const Saved& made, Constant activated, Constant dy,
                                    Matrix d_hidden);
    static void backward_of_gated(const StackPass<Ctx, T>& run, const Weights& weights,
                                  const Saved& saved, Constant x, Constant dy, Matrix dx,
                                  Into into);
};

template <class Ctx, class T>
kernels::ActivationSite<typename Ctx::Space> activation_site(const StackPass<Ctx, T>& run) {
    return {run.settings.activation, run.dropout(DropoutSite::ffn_hidden), run.batch.coordinates};
}

template <class Ctx, class T>
auto FeedForwardBlock<Ctx, T>::take(const StackPass<Ctx, T>& run, std::int64_t rows,
                                    std::int64_t cols) -> Saved {
    Saved made;
    made.hidden = run.take(rows, cols);
    if (run.settings.gate == Has::yes) {
        if (run.recompute < Recompute::outputs) made.activated = run.take(rows, cols / 2);
        return made;
    }
    if (run.settings.activation == kernels::Activation::relu)
        made.activated = made.hidden;  // relu's backward needs only its output
    else if (run.recompute < Recompute::outputs)
        made.activated = run.take(rows, cols);
    if (run.state != nullptr) {  // backward follows
        const auto mask_cols =
            kernels::relu_mask_cols<T>(run.ctx, activation_site(run), rows, cols);
        made.mask = run.arena.template take_matrix<std::uint8_t>(rows, mask_cols);
    }
    return made;
}

template <class Ctx, class T>
void FeedForwardBlock<Ctx, T>::activate(const StackPass<Ctx, T>& run, const Weights& weights,
                                        Constant x, Matrix activated, Saved& made) {
    if (run.settings.gate == Has::yes) {
        LinearBlock<Ctx, T>::forward(run, weights.up, x, made.hidden);
        return kernels::gated_activation_forward<T>(run.ctx, run.settings.activation, made.hidden,
                                                    activated);
    }
    if (has_adapters(weights)) {
        const auto site = activation_site(run);
        made.mask = {};
        LinearBlock<Ctx, T>::forward(run, weights.up, x, made.hidden);
        return kernels::activation_forward<T>(run.ctx, site.f, site.dropout, site.coordinates,
                                              made.hidden, activated);
    }
    if (kernels::linear_relu_forward<T>(run.ctx, x, weights.up.w, weights.up.b, activated,
                                        made.mask))
        return;
    made.mask = {};
    kernels::linear_activation_forward<T>(run.ctx, {.x = x,
                                                    .w = weights.up.w,
                                                    .bias = weights.up.b,
                                                    .site = activation_site(run),
                                                    .hidden = made.hidden,
                                                    .y = activated});
}

template <class Ctx, class T>
void FeedForwardBlock<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights,
                                       Constant x, Matrix y, Saved& saved) {
    const auto before = run.arena.mark();
    const std::int64_t rows = run.all_rows(x.rows);
    saved = take(run, rows, weights.up.w.rows);
    const auto after = run.arena.mark();
    const Matrix activated =
        saved.activated.empty() ? run.take(rows, inner(weights)) : saved.activated;
    activate(run, weights, run.gather(x), activated, saved);
    LinearBlock<Ctx, T>::forward_to_own(run, weights.down, activated, y);
    const bool keeps = run.recompute < Recompute::ffn;
    run.arena.rewind(keeps ? after : before);
    if (!keeps) saved = {};
}

template <class Ctx, class T>
void FeedForwardBlock<Ctx, T>::backward_of_rows(const StackPass<Ctx, T>& run,
                                                const Weights& weights, const Saved& saved,
                                                Constant x, Constant dy, Matrix dx, Into into) {
    if (run.settings.gate == Has::yes)
        return backward_of_gated(run, weights, saved, x, dy, dx, into);
    const auto site = activation_site(run);
    const bool again = saved.hidden.empty();
    Saved made = again ? take(run, x.rows, weights.up.w.rows) : saved;
    const Matrix d_hidden = run.take(made.hidden.rows, made.hidden.cols);
    const Matrix activated = made.activated.empty() ? d_hidden : made.activated;
    if (again) {
        const kernels::ProductsOfForward<Ctx> same_bits(run.ctx);
        activate(run, weights, x, activated, made);
    } else if (made.activated.empty()) {
        kernels::activation_forward<T>(run.ctx, site.f, site.dropout, site.coordinates, made.hidden,
                                       activated);
    }
    if (has_adapters(weights)) {
        backward_of_adapted(run, weights, made, activated, dy, d_hidden);
        return LinearBlock<Ctx, T>::backward_products(run, weights.up, x, d_hidden, dx, into);
    }
    if (!weights.down.dw.empty())
        kernels::linear_backward_weight<T>(run.ctx, activated, dy, weights.down.dw,
                                           run.gradients_into);
    if (kernels::linear_relu_backward<T>(run.ctx, dy, weights.down.w, made.mask, d_hidden)) {
        kernels::linear_backward_parameters<T>(run.ctx, x, d_hidden, weights.up.dw, weights.up.db,
                                               run.gradients_into);
        return kernels::linear_backward_input<T>(run.ctx, d_hidden, weights.up.w, dx, into);
    }
    kernels::linear_activation_backward<T>(run.ctx, {.dz = dy,
                                                     .w = weights.down.w,
                                                     .site = site,
                                                     .hidden = made.hidden,
                                                     .y = activated,
                                                     .d_hidden = d_hidden,
                                                     .db = weights.up.db,
                                                     .into = run.gradients_into});
    LinearBlock<Ctx, T>::backward_products(run, weights.up, x, d_hidden, dx, into);
}

template <class Ctx, class T>
void FeedForwardBlock<Ctx, T>::backward_of_adapted(const StackPass<Ctx, T>& run,
                                                   const Weights& weights, const Saved& made,
                                                   Constant activated, Constant dy,
                                                   Matrix d_hidden) {
    const auto site = activation_site(run);
    LinearBlock<Ctx, T>::backward_products(run, weights.down, activated, dy, d_hidden,
                                           Into::overwrite);
    kernels::activation_backward<T>(run.ctx, {.f = site.f,
                                              .dropout = site.dropout,
                                              .coordinates = site.coordinates,
                                              .x = made.hidden,
                                              .dy = d_hidden,
                                              .dx = d_hidden,
                                              .db = weights.up.db,
                                              .into = run.gradients_into});
}

template <class Ctx, class T>
void FeedForwardBlock<Ctx, T>::backward_of_gated(const StackPass<Ctx, T>& run,
                                                 const Weights& weights, const Saved& saved,
                                                 Constant x, Constant dy, Matrix dx, Into into) {
    const bool again = saved.hidden.empty();
    Saved made = again ? take(run, x.rows, weights.up.w.rows) : saved;
    const Matrix d_activated = run.take(x.rows, inner(weights));
    const Matrix activated = made.activated.empty() ? d_activated : made.activated;
    if (again) {
        const kernels::ProductsOfForward<Ctx> same_bits(run.ctx);
        activate(run, weights, x, activated, made);
    } else if (made.activated.empty()) {
        kernels::gated_activation_forward<T>(run.ctx, run.settings.activation, made.hidden,
                                             activated);
    }
    LinearBlock<Ctx, T>::backward_products(run, weights.down, activated, dy, d_activated,
                                           Into::overwrite);
    const Matrix d_hidden = made.hidden;
    kernels::gated_activation_backward<T>(
        run.ctx,
        {.f = run.settings.activation, .x = made.hidden, .dy = d_activated, .dx = d_hidden});
    if (weights.up.db.empty())
        return LinearBlock<Ctx, T>::backward_products(run, weights.up, x, d_hidden, dx, into);
    LinearBlock<Ctx, T>::backward(run, weights.up, x, d_hidden, dx, into);
}

}  // namespace lockstep::model
