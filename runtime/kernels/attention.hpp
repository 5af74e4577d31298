// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/into.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

enum class Mask { none, causal };

// Scores are scaled by 1 / sqrt(head_dim); head h owns columns [h * head_dim, (h + 1) * head_dim)
// of q and out, and reads those of kv_head(h) in k and v.
struct AttentionShape {
    int heads = 0;
    int head_dim = 0;
    Mask mask = Mask::none;  // causal: query i of a sequence sees its keys 0..i
    // Heads of keys and values, a divisor of heads: heads / kv_heads heads after one another share
    // one. 0: as many as heads.
    int kv_heads = 0;
    // With the causal mask, query i sees no more than keys i - window + 1..i. 0: no such limit.
    std::int32_t window = 0;

    constexpr int key_heads() const noexcept { return kv_heads == 0 ? heads : kv_heads; }
    constexpr int heads_per_key() const noexcept { return heads / key_heads(); }
    constexpr int kv_head(int head) const noexcept { return head / heads_per_key(); }
    constexpr std::int64_t q_width() const noexcept { return std::int64_t{heads} * head_dim; }
    constexpr std::int64_t kv_width() const noexcept {
        return std::int64_t{key_heads()} * head_dim;
    }
};

// Holds the sequences of a ragged batch: sequence s has queries [q_offsets[s], q_offsets[s + 1])
// and keys [k_offsets[s], k_offsets[s + 1]); rows[s] is its global row. If a sequence has no keys,
// its output is zero. Rows past the last offset are filler.
template <class Space>
struct Sequences {
    View<const std::int32_t, Space> q_offsets, k_offsets;
    View<const std::uint32_t, Space> rows;
    // No sequence has more queries or keys than these; 0 means that the maximum is not known. A
    // GPU's offsets are in its memory, so the size of a launch comes from these numbers. They
    // should be close to the true maximum and equal in many batches.
    std::int32_t longest_q = 0, longest_k = 0;
};

// Computes attention. q and out are [q_total, heads * head_dim], k and v [k_total, kv_heads *
// head_dim]; log_sum_exp is [heads * q_total],
// head-major, and backward needs it. Attention dropout uses word (key position % 4) of Philox {site
// + head, global row, query position, key position / 4}. Filler rows of out become zero. No [T, T]
// matrix is kept. GPUs also take fp16; their head_dim is at most 256, and they do not notice a
// causal sequence with unequal offsets.
template <class T, class Space>
struct AttentionForward {
    AttentionShape shape;
    Dropout dropout = {};
    Sequences<Space> sequences;
    MatrixView<const T, Space> q, k, v;
    MatrixView<T, Space> out;
    View<float, Space> log_sum_exp;
};
template <class T>
void attention_forward(CpuContext& ctx, const AttentionForward<T, HostSpace>& operands);
template <class T>
void attention_forward(CudaContext& ctx, const AttentionForward<T, CudaSpace>& operands);

// Gradients of biases that were added to q, k and v: the sums over the rows of dq, dk and dv are
// written or added to them. Nothing is done if `q` is empty. Sums of 16-bit gradients may be taken
// before rounding.
template <class Space>
struct AttentionBiases {
    View<float, Space> q, k, v;
    Into into = Into::overwrite;
};

// Overwrites dq, dk and dv; their filler rows become zero. dk and dv of a head of keys are the sums
// over the heads that share it. The probabilities are computed again
// from log_sum_exp.
template <class T, class Space>
struct AttentionBackward {
    AttentionShape shape;
    Dropout dropout = {};
    Sequences<Space> sequences;
    MatrixView<const T, Space> q, k, v, out;
    View<const float, Space> log_sum_exp;
    MatrixView<const T, Space> d_out;
    MatrixView<T, Space> dq, dk, dv;
    AttentionBiases<Space> biases = {};
};
template <class T>
void attention_backward(CpuContext& ctx, const AttentionBackward<T, HostSpace>& operands);
template <class T>
void attention_backward(CudaContext& ctx, const AttentionBackward<T, CudaSpace>& operands);

// Returns a text for the user that names the implementation of attention for 16-bit matrices with
// this head_dim; empty on the CPU, where nobody can choose. `dropout` is training's rate.
inline std::string describe_attention(CpuContext&, int, float) { return ""; }
std::string describe_attention(CudaContext& ctx, int head_dim, float dropout);

// Decoding has one query per sequence, and keys and values in a cache. Sequence s attends to cache
// rows [begin[s], begin[s] + length[s]), with a window to the last of them only. q and out are
// [sequences, heads * head_dim], the cache's rows are kv_heads * head_dim wide.
template <class T, class Space>
struct AttentionDecode {
    AttentionShape shape;
    View<const std::int64_t, Space> begin;
    View<const std::int32_t, Space> length;
    MatrixView<const T, Space> q, k_cache, v_cache;
    MatrixView<T, Space> out;
};
template <class T>
void attention_decode(CpuContext& ctx, const AttentionDecode<T, HostSpace>& operands);
template <class T>
void attention_decode(CudaContext& ctx, const AttentionDecode<T, CudaSpace>& operands);

}  // namespace lockstep::kernels
