// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/residual_norm.hpp"
#include "runtime/kernels/norm.hpp"

namespace lockstep::model {

// Returns the source of the output that a norm has just written for a branch.
template <class Ctx, class T>
InputSource<T, typename Ctx::Space> source_of(MatrixView<const T, typename Ctx::Space> y,
                                              const Norm<T, typename Ctx::Space>& norm,
                                              const NormSaved<T, typename Ctx::Space>& saved) {
    if constexpr (Ctx::keeps_activations) return {y};
    return {{}, &norm, saved};
}

template <class Ctx, class T>
MatrixView<const T, typename Ctx::Space> input_again(
    const StackPass<Ctx, T>& run, const InputSource<T, typename Ctx::Space>& source) {
    if (source.norm == nullptr) return source.kept;
    const auto& [sum, mean, rstd] = source.saved;
    const auto y = run.take_input(sum.rows, sum.cols);
    kernels::norm_forward<T>(run.ctx, {}, run.batch.places, sum, {}, source.norm->gamma,
                             source.norm->beta, {}, y, mean, rstd);
    return y;
}

template <class Ctx, class T>
auto ResidualNorm<Ctx, T>::forward(const StackPass<Ctx, T>& run, DropoutSite place,
                                   const Weights& weights, Constant residual, Matrix branch,
                                   Saved& saved) -> Stream<T, Space> {
    const Matrix y = run.take_input(branch.rows, branch.cols);
    saved = {branch, run.take_floats(branch.rows), run.take_floats(branch.rows)};
    kernels::norm_forward<T>(run.ctx, run.dropout(place), run.batch.places, residual, branch,
                             weights.gamma, weights.beta, branch, y, saved.mean, saved.rstd);
    const auto source = source_of<Ctx, T>(y, weights, saved);
    if (run.settings.norms == NormPosition::after_sum) return {y, y, source};
    return {branch, y, source};
}

template <class Ctx, class T>
auto ResidualNorm<Ctx, T>::backward(const StackPass<Ctx, T>& run, DropoutSite place,
                                    const Weights& weights, const Saved& saved,
                                    StreamGradient<T, Space>& d, View<float, Space> d_bias)
    -> Constant {
    const kernels::Dropout dropout = run.dropout(place);
    const bool after_sum = run.settings.norms == NormPosition::after_sum;
    const Matrix d_sum = after_sum ? d.input : d.residual_space;
    // If nothing is dropped, the branch's gradient is that of the sum itself.
    const Matrix d_branch = dropout.active() ? run.take(d_sum.rows, d_sum.cols) : Matrix();
    kernels::norm_backward<T>(run.ctx, dropout, run.batch.places, d.input,
                              after_sum ? Constant() : d.residual, saved.sum, saved.mean,
                              saved.rstd, weights.gamma, d_sum, d_branch, weights.dgamma,
                              weights.dbeta, d_bias, run.gradients_into);
    if (!after_sum) d.residual = d_sum;
    return dropout.active() ? d_branch : d_sum;
}

template <class Ctx, class T>
void PlainNorm<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                                Matrix y, Saved& saved) {
    saved = {x, run.take_floats(x.rows), run.take_floats(x.rows)};
    kernels::norm_forward<T>(run.ctx, {}, run.batch.places, x, {}, weights.gamma, weights.beta, {},
                             y, saved.mean, saved.rstd);
}

template <class Ctx, class T>
void PlainNorm<Ctx, T>::backward(const StackPass<Ctx, T>& run, const Weights& weights,
                                 const Saved& saved, Constant dy, Constant d_past, Matrix dx) {
    kernels::norm_backward<T>(run.ctx, {}, run.batch.places, dy, d_past, saved.sum, saved.mean,
                              saved.rstd, weights.gamma, dx, {}, weights.dgamma, weights.dbeta, {},
                              run.gradients_into);
}

}  // namespace lockstep::model
