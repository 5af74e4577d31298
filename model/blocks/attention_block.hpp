// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/blocks/linear.hpp"
#include "model/blocks/stack_pass.hpp"
#include "model/blocks/weights.hpp"

namespace lockstep::model {

// What backward needs of an attention block.
template <class T, class Space>
struct AttentionSaved {
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

// q = x Wq^T + b;  y = attention(q, k, v) Wo^T + b, where [k v] of the encoder's output are given,
// as MemoryBlock makes them
template <class Ctx, class T>
struct CrossAttentionBlock {
    using Space = typename Ctx::Space;
    using Weights = CrossAttention<T, Space>;
    using Saved = AttentionSaved<T, Space>;
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant x,
                          Matrix kv, Saved& saved);
    // All but the gradient of out's bias, which comes with dy, and that of kv's weight. Overwrites
    // d_kv.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, const Saved& saved,
                         Constant x, Constant dy, Matrix dx, Into into, Matrix d_kv);
};

// [k v] = memory Wkv^T + b of all layers, side by side: one product for all of them, and in
// backward one for each gradient.
template <class Ctx, class T>
struct MemoryBlock {
    using Space = typename Ctx::Space;
    using Weights = std::vector<Linear<T, Space>>;  // Stack::memory_projections
    using Constant = MatrixView<const T, Space>;
    using Matrix = MatrixView<T, Space>;

    // Layer i owns columns [i * 2 d, (i + 1) * 2 d). Empty where there are no layers.
    static Matrix forward(const StackPass<Ctx, T>& run, const Weights& weights, Constant memory);
    // All but the gradients of biases, which come with dy. Overwrites d_memory.
    static void backward(const StackPass<Ctx, T>& run, const Weights& weights, Constant memory,
                         Constant dy, Matrix d_memory);
};

}  // namespace lockstep::model
