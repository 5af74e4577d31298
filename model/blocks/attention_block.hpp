// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/blocks/linear.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"

namespace lockstep::model {

// What backward needs of an attention block.
template <class T, class Space>
struct AttentionSaved {
    MatrixView<const T, Space> memory;  // cross-attention only
    MatrixView<T, Space> q, k, v, attended;
    View<float, Space> log_sum_exp;
};

// [q k v] = x Wqkv^T + b;  y = attention(q, k, v) Wo^T + b
template <class Ctx, class T>
struct SelfAttentionBlock {
    using Space = typename Ctx::Space;
    using Weights = SelfAttention<T, Space>;
    using Saved = AttentionSaved<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                          Saved& saved);
    // All but the gradient of out's bias, which comes with dy.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         Constant x, Constant dy, Matrix dx, Into into);
};

// q = x Wq^T + b;  [k v] = memory Wkv^T + b;  y = attention(q, k, v) Wo^T + b
template <class Ctx, class T>
struct CrossAttentionBlock {
    using Space = typename Ctx::Space;
    using Weights = CrossAttention<T, Space>;
    using Saved = AttentionSaved<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                          Constant memory, Saved& saved);
    // All but the gradient of out's bias, which comes with dy.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         Constant x, Constant dy, Matrix dx, Into into, Matrix d_memory,
                         Into into_memory);
};

}  // namespace lockstep::model
