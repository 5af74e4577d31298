// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"
#include "runtime/kernels/dropout.hpp"
#include "runtime/kernels/linear.hpp"
#include "runtime/kernels/norm.hpp"
#include "runtime/kernels/scale.hpp"

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
        const auto mark = run.arena.mark();
        for (const Adapter<T, Space>& adapter : weights.adapters) {
            const Matrix low = low_rank(run, adapter, input_of(run, adapter, x));
            kernels::linear_backward_input<T>(run.ctx, low, adapter.b, columns_of(adapter, y),
                                              Into::add);
            run.arena.rewind(mark);
        }
    }

    // Does the same for the rows of all tensor ranks, of which x has this rank's.
    static Matrix forward_of_all(const StackPass<Ctx, T>& run, const Weights& weights, Constant x) {
        const Matrix y = run.take(run.all_rows(x.rows), weights.w.rows);
        const auto mark = run.arena.mark();
        forward(run, weights, run.gather(x), y);
        run.arena.rewind(mark);
        return y;
    }
    // Adds the results of all tensor ranks for all rows, and returns or writes this rank's rows.
    static Matrix forward_to_own(const StackPass<Ctx, T>& run, const Weights& weights, Constant x) {
        if (run.tensor == nullptr) return forward(run, weights, x);
        const Matrix y = run.take(run.own().total, weights.w.rows);
        forward_to_own(run, weights, x, y);
        return y;
    }
    static void forward_to_own(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                               Matrix y) {
        if (run.tensor == nullptr) return forward(run, weights, x, y);
        const auto mark = run.arena.mark();
        const Matrix all = run.take(x.rows, weights.w.rows);
        forward(run, weights, x, all);
        run.scatter_sums(all, y, Into::overwrite);
        run.arena.rewind(mark);
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
        if (!weights.dw.empty())
            kernels::linear_backward_weight<T>(run.ctx, x, dy, weights.dw, run.gradients_into);
        const auto mark = run.arena.mark();
        // The loops are apart because dx may be the memory of x.
        std::vector<Matrix> d_low;
        for (const Adapter<T, Space>& adapter : weights.adapters)
            d_low.push_back(backward_of_adapter(run, adapter, x, dy));
        kernels::linear_backward_input<T>(run.ctx, dy, weights.w, dx, into);
        for (std::size_t i = 0; i < d_low.size(); ++i)
            add_gradient_of_input(run, weights.adapters[i], d_low[i], dx);
        run.arena.rewind(mark);
    }

private:
    template <class M>
    static M columns_of(const Adapter<T, Space>& adapter, const M& y) {
        return y.columns(adapter.first, adapter.b.cols);
    }

    // Returns what the adapter reads: x, or some of it in the arena.
    static Constant input_of(const StackPass<Ctx, T>& run, const Adapter<T, Space>& adapter,
                             Constant x) {
        const kernels::Dropout site = run.adapter_dropout(adapter.number);
        if (!site.active()) return x;
        const Matrix dropped = run.take(x.rows, x.cols);
        kernels::dropout<T>(run.ctx, site, run.batch.coordinates, x, dropped);
        return dropped;
    }

    static void add_gradient_of_input(const StackPass<Ctx, T>& run,
                                      const Adapter<T, Space>& adapter, Constant d_low, Matrix dx) {
        const kernels::Dropout site = run.adapter_dropout(adapter.number);
        if (!site.active())
            return kernels::linear_backward_input<T>(run.ctx, d_low, adapter.a, dx, Into::add);
        const auto mark = run.arena.mark();
        const Matrix d_dropped = run.take(dx.rows, dx.cols);
        kernels::linear_backward_input<T>(run.ctx, d_low, adapter.a, d_dropped, Into::overwrite);
        kernels::dropout<T>(run.ctx, site, run.batch.coordinates, d_dropped, d_dropped);
        kernels::add<T>(run.ctx, d_dropped, dx);
        run.arena.rewind(mark);
    }

    // Returns scale * x a^T, [x.rows, rank], in the arena.
    static Matrix low_rank(const StackPass<Ctx, T>& run, const Adapter<T, Space>& adapter,
                           Constant x) {
        const Matrix low = run.take(x.rows, adapter.a.rows);
        kernels::linear_forward<T>(run.ctx, x, adapter.a, {}, low);
        kernels::scale<T>(run.ctx, adapter.scale, low);
        return low;
    }

    // Calculates da and db, and returns the gradient of x a^T, in the arena. x a^T is calculated
    // again: it takes less time than a base's product by far, and no memory from forward on.
    static Matrix backward_of_adapter(const StackPass<Ctx, T>& run,
                                      const Adapter<T, Space>& adapter, Constant x, Constant dy) {
        const Constant d_columns = columns_of(adapter, dy);
        const Matrix d_low = run.take(x.rows, adapter.a.rows);
        const auto mark = run.arena.mark();
        const Constant input = input_of(run, adapter, x);
        const Constant low = low_rank(run, adapter, input);
        kernels::linear_backward_weight<T>(run.ctx, d_columns, low, adapter.db, run.gradients_into);
        kernels::linear_forward<T>(run.ctx, d_columns, adapter.b, {}, d_low);
        kernels::scale<T>(run.ctx, adapter.scale, d_low);
        kernels::linear_backward_weight<T>(run.ctx, input, d_low, adapter.da, run.gradients_into);
        run.arena.rewind(mark);
        return d_low;
    }
};

}  // namespace lockstep::model
