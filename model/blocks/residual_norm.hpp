// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/linear.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"
#include "runtime/kernels/norm.hpp"

namespace lockstep::model {

// Holds the values that a norm's backward needs.
template <class T, class Space>
struct NormSaved {
    MatrixView<const T, Space> sum;
    View<float, Space> mean, rstd;  // an rms norm has no mean
    View<T, Space> weights = {};    // gamma and beta as forward read them, if they are read again
};

// Takes the memory of what backward needs of a norm of `sum`.
template <class Ctx, class T>
NormSaved<T, typename Ctx::Space> take_norm(const StackPass<Ctx, T>& run,
                                            MatrixView<const T, typename Ctx::Space> sum) {
    const bool has_mean = run.settings.norm == kernels::NormKind::layer;
    NormSaved<T, typename Ctx::Space> saved{sum, {}, {}};
    if (has_mean) saved.mean = run.take_floats(sum.rows);
    saved.rstd = run.take_floats(sum.rows);
    if (!run.input_space.empty())
        saved.weights =
            run.arena.template take<T>((has_mean ? 2 : 1) * static_cast<std::size_t>(sum.cols));
    return saved;
}

// Tells how backward gets a branch's input: it was kept, or its norm calculates it again.
template <class T, class Space>
struct InputSource {
    MatrixView<const T, Space> kept;
    NormSaved<T, Space> saved = {};  // has weights if the input is calculated again
};

// Describes the state between two branches: the start of the next residual sum and the input of the
// next branch. They are the same matrix if norms follow the sums.
template <class T, class Space>
struct Stream {
    MatrixView<const T, Space> residual, input;
    InputSource<T, Space> source = {};  // the source of `input`
};

template <class Ctx, class T>
MatrixView<const T, typename Ctx::Space> input_again(
    const StackPass<Ctx, T>& run, const InputSource<T, typename Ctx::Space>& source);

// Returns the same stream with its input calculated again, from what outlives the memory of
// `stream.input`: the source and, if norms come before branches, the residual sum.
template <class Ctx, class T>
Stream<T, typename Ctx::Space> stream_again(const StackPass<Ctx, T>& run,
                                            const Stream<T, typename Ctx::Space>& stream);

// Holds the gradients of a Stream, which backward updates in place from the last branch to the
// first. If norms follow the sums, only `input` is used; it holds the gradient of both.
template <class T, class Space>
struct StreamGradient {
    MatrixView<T, Space> input;
    MatrixView<const T, Space> residual;  // empty: no gradient has reached it yet
    MatrixView<T, Space> residual_space;  // memory for it
};

// Calculates the residual sum after a branch and the norm that follows it:
//       norms after sums:      x = norm(x + dropout(branch));  the next branch reads x
//       norms before branches: x = x + dropout(branch);        the next branch reads norm(x)
template <class Ctx, class T>
struct ResidualNorm {
    using Space = typename Ctx::Space;
    using Weights = Norm<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    using Saved = NormSaved<T, Space>;

    // Returns the memory of what backward needs; the sum is written to the branch's.
    static Saved take(const StackPass<Ctx, T>& run, Matrix branch) {
        return take_norm<Ctx, T>(run, branch);
    }
    // Writes to `saved`, which take() returned for the branch. The memory of x.input may be
    // overwritten.
    static Stream<T, Space> forward(const StackPass<Ctx, T>& run, DropoutSite site,
                                    const Weights& weights, Constant residual, Matrix branch,
                                    const Saved& saved);
    // Returns the branch's gradient and writes that of the bias at the end of the branch. `d`
    // becomes the gradient of the incoming stream, except for the branch's contribution to d.input,
    // which the branch's backward writes there as branch_into() says.
    static Constant backward(const StackPass<Ctx, T>& run, DropoutSite site, const Weights& weights,
                             const Saved& saved, StreamGradient<T, Space>& d,
                             View<float, Space> d_bias);
    static Into branch_into(const StackPass<Ctx, T>& run) noexcept {
        return run.settings.norms == NormPosition::after_sum ? Into::add : Into::overwrite;
    }
};

// Calculates y = norm(x) without a residual sum.
template <class Ctx, class T>
struct PlainNorm {
    using Space = typename Ctx::Space;
    using Weights = Norm<T, Space>;
    using Saved = NormSaved<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    static void forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x, Matrix y,
                        Saved& saved);
    // Calculates dx = d(y -> x) + d_past. d_past is the gradient that reached x past the norm and
    // may be empty. dx may be the memory of dy or d_past.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         Constant dy, Constant d_past, Matrix dx);
};

// Returns the source of the output that a norm has just written for a branch. An output in memory
// that others reuse is not kept.
template <class Ctx, class T>
InputSource<T, typename Ctx::Space> source_of(const StackPass<Ctx, T>& run,
                                              MatrixView<const T, typename Ctx::Space> y,
                                              const Norm<T, typename Ctx::Space>& norm,
                                              const NormSaved<T, typename Ctx::Space>& saved) {
    if (run.input_space.empty()) return {y};
    // Backward of the next branch may come when the norm's own block is no longer there.
    const std::size_t count = norm.gamma.size();
    device::copy(run.ctx, norm.gamma, saved.weights.subview(0, count));
    if (!norm.beta.empty()) device::copy(run.ctx, norm.beta, saved.weights.subview(count, count));
    return {{}, saved};
}

template <class Ctx, class T>
MatrixView<const T, typename Ctx::Space> input_again(
    const StackPass<Ctx, T>& run, const InputSource<T, typename Ctx::Space>& source) {
    if (source.saved.weights.empty()) return source.kept;
    const auto& [sum, mean, rstd, weights] = source.saved;
    const auto count = static_cast<std::size_t>(sum.cols);
    const auto y = run.take_input(sum.rows, sum.cols);
    kernels::norm_forward<T>(run.ctx, {.kind = run.settings.norm,
                                       .epsilon = run.settings.norm_epsilon,
                                       .coordinates = run.own().coordinates,
                                       .x = sum,
                                       .gamma = weights.subview(0, count),
                                       .beta = weights.subview(count, weights.size() - count),
                                       .y = y,
                                       .mean = mean,
                                       .rstd = rstd});
    return y;
}

template <class Ctx, class T>
Stream<T, typename Ctx::Space> stream_again(const StackPass<Ctx, T>& run,
                                            const Stream<T, typename Ctx::Space>& stream) {
    const auto input = input_again(run, stream.source);
    const bool one = run.settings.norms == NormPosition::after_sum;
    return {one ? input : stream.residual, input, stream.source};
}

template <class Ctx, class T>
auto ResidualNorm<Ctx, T>::forward(const StackPass<Ctx, T>& run, DropoutSite site,
                                   const Weights& weights, Constant residual, Matrix branch,
                                   const Saved& saved) -> Stream<T, Space> {
    const Matrix y = run.take_input(branch.rows, branch.cols);
    kernels::norm_forward<T>(run.ctx, {.kind = run.settings.norm,
                                       .epsilon = run.settings.norm_epsilon,
                                       .dropout = run.dropout(site),
                                       .coordinates = run.own().coordinates,
                                       .x = residual,
                                       .branch = branch,
                                       .gamma = weights.gamma,
                                       .beta = weights.beta,
                                       .sum = branch,
                                       .y = y,
                                       .mean = saved.mean,
                                       .rstd = saved.rstd});
    const auto source = source_of<Ctx, T>(run, y, weights, saved);
    if (run.settings.norms == NormPosition::after_sum) return {y, y, source};
    return {branch, y, source};
}

template <class Ctx, class T>
auto ResidualNorm<Ctx, T>::backward(const StackPass<Ctx, T>& run, DropoutSite site,
                                    const Weights& weights, const Saved& saved,
                                    StreamGradient<T, Space>& d, View<float, Space> d_bias)
    -> Constant {
    const kernels::Dropout dropout = run.dropout(site);
    const bool after_sum = run.settings.norms == NormPosition::after_sum;
    const Matrix d_sum = after_sum ? d.input : d.residual_space;
    // If nothing is dropped, the branch's gradient is that of the sum itself.
    const Matrix d_branch = dropout.active() ? run.take(d_sum.rows, d_sum.cols) : Matrix();
    kernels::norm_backward<T>(run.ctx, {.kind = run.settings.norm,
                                        .dropout = dropout,
                                        .coordinates = run.own().coordinates,
                                        .dy = d.input,
                                        .d_sum = after_sum ? Constant() : d.residual,
                                        .sum = saved.sum,
                                        .mean = saved.mean,
                                        .rstd = saved.rstd,
                                        .gamma = weights.gamma,
                                        .dx = d_sum,
                                        .d_branch = d_branch,
                                        .dgamma = weights.dgamma,
                                        .dbeta = weights.dbeta,
                                        .dbias = d_bias,
                                        .into = run.gradients_into});
    if (!after_sum) d.residual = d_sum;
    return dropout.active() ? d_branch : d_sum;
}

template <class Ctx, class T>
void PlainNorm<Ctx, T>::forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                                Matrix y, Saved& saved) {
    saved = take_norm<Ctx, T>(run, x);
    kernels::norm_forward<T>(run.ctx, {.kind = run.settings.norm,
                                       .epsilon = run.settings.norm_epsilon,
                                       .coordinates = run.own().coordinates,
                                       .x = x,
                                       .gamma = weights.gamma,
                                       .beta = weights.beta,
                                       .y = y,
                                       .mean = saved.mean,
                                       .rstd = saved.rstd});
}

template <class Ctx, class T>
void PlainNorm<Ctx, T>::backward(const StackPass<Ctx, T>& run, const Weights& weights,
                                 const Saved& saved, Constant dy, Constant d_past, Matrix dx) {
    kernels::norm_backward<T>(run.ctx, {.kind = run.settings.norm,
                                        .coordinates = run.own().coordinates,
                                        .dy = dy,
                                        .d_sum = d_past,
                                        .sum = saved.sum,
                                        .mean = saved.mean,
                                        .rstd = saved.rstd,
                                        .gamma = weights.gamma,
                                        .dx = dx,
                                        .dgamma = weights.dgamma,
                                        .dbeta = weights.dbeta,
                                        .into = run.gradients_into});
}

}  // namespace lockstep::model
