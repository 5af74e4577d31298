// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/linear.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"

namespace lockstep::model {

// What a norm's backward needs.
template <class T, class Space>
struct NormSaved {
    MatrixView<const T, Space> sum;
    View<float, Space> mean, rstd;
};

// How to come by a branch's input in backward: it was kept, or its norm writes it again.
template <class T, class Space>
struct InputSource {
    MatrixView<const T, Space> kept;
    const Norm<T, Space>* norm = nullptr;
    NormSaved<T, Space> saved = {};
};

// Between two branches: what the next residual sum starts from, and what the next branch reads.
// They are the same matrix where norms stand after the sums.
template <class T, class Space>
struct Stream {
    MatrixView<const T, Space> residual, input;
    InputSource<T, Space> source = {};  // of input
};

template <class Ctx, class T>
MatrixView<const T, typename Ctx::Space> input_again(
    const StackPass<Ctx, T>& run, const InputSource<T, typename Ctx::Space>& source);

// The gradients of a Stream, passed down through backward in place. Where norms stand after the
// sums only `input` is used: it holds the gradient of both.
template <class T, class Space>
struct StreamGradient {
    MatrixView<T, Space> input;
    MatrixView<const T, Space> residual;  // empty: none has reached it yet
    MatrixView<T, Space> residual_space;  // memory for it
};

// The residual sum after a branch, with the norm that follows it:
//   norms after sums:      x = norm(x + dropout(branch));  the next branch reads x
//   norms before branches: x = x + dropout(branch);        the next branch reads norm(x)
template <class Ctx, class T>
struct ResidualNorm {
    using Space = typename Ctx::Space;
    using Weights = Norm<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    using Saved = NormSaved<T, Space>;

    // The sum takes the branch's memory. Overwrites the memory of x.input.
    static Stream<T, Space> forward(const StackPass<Ctx, T>& run, DropoutSite place,
                                    const Weights& weights, Constant residual, Matrix branch,
                                    Saved& saved);
    // Returns the branch's gradient, and writes that of the bias that ends the branch. `d`
    // becomes that of the incoming stream but for what the branch contributes to d.input: the
    // branch's backward writes it there by branch_into().
    static Constant backward(const StackPass<Ctx, T>& run, DropoutSite place,
                             const Weights& weights, const Saved& saved,
                             StreamGradient<T, Space>& d, View<float, Space> d_bias);
    static Into branch_into(const StackPass<Ctx, T>& run) noexcept {
        return run.settings.norms == NormPosition::after_sum ? Into::add : Into::overwrite;
    }
};

// y = norm(x), with nothing added.
template <class Ctx, class T>
struct PlainNorm {
    using Space = typename Ctx::Space;
    using Weights = Norm<T, Space>;
    using Saved = NormSaved<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    static void forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x, Matrix y,
                        Saved& saved);
    // dx = d(y -> x) + d_past, where d_past (may be empty) reached x past the norm. dx may be dy or
    // d_past.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         Constant dy, Constant d_past, Matrix dx);
};

}  // namespace lockstep::model
