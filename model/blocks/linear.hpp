// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"
#include "runtime/kernels/linear.hpp"

namespace lockstep::model {

using kernels::Into;

template <class Ctx, class T>
struct LinearBlock {
    using Space = typename Ctx::Space;
    using Weights = Linear<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    // Returns y = x w^T + b, [x.rows, weights.w.rows], in the arena.
    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x) {
        const Matrix y = run.take(x.rows, weights.w.rows);
        forward(run, weights, x, y);
        return y;
    }
    static void forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                        Matrix y) {
        kernels::linear_forward<T>(run.ctx, x, weights.w, weights.b, y);
    }

    // Calculates dw = or += dy^T x and db = or += column sums of dy, as run.gradients_into says,
    // and dx = or += dy w, as `into` says. dx is written last, so it may be the memory of x or of
    // the input of dy.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                         Constant dy, Matrix dx, Into into) {
        kernels::bias_backward<T>(run.ctx, dy, weights.db, run.gradients_into);
        backward_products(run, weights, x, dy, dx, into);
    }
    // Does the same without db: the kernel that calculated dy has already written db.
    static void backward_products(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                                  Constant dy, Matrix dx, Into into) {
        kernels::linear_backward_weight<T>(run.ctx, x, dy, weights.dw, run.gradients_into);
        kernels::linear_backward_input<T>(run.ctx, dy, weights.w, dx, into);
    }
};

}  // namespace lockstep::model
