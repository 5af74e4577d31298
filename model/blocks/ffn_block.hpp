// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/linear.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"

namespace lockstep::model {

// y = dropout(f(x W1^T + b)) W2^T + b
template <class Ctx, class T>
struct FeedForwardBlock {
    using Space = typename Ctx::Space;
    using Weights = FeedForward<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    struct Saved {
        Matrix hidden;                         // before the activation; after it where that is relu
        Matrix activated;                      // after it; empty: backward writes it again
        MatrixView<std::uint8_t, Space> mask;  // relu's, or empty (relu_mask.hpp)
    };

    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                          Saved& saved);
    // All but the gradient of the last bias, which comes with dy.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         Constant x, Constant dy, Matrix dx, Into into);
};

}  // namespace lockstep::model
