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

// Scores are scaled by 1 / sqrt(head_dim); head h owns columns [h * head_dim, (h + 1) * head_dim).
struct AttentionShape {
    int heads;
    int head_dim;
    Mask mask;  // causal: query i of a sequence sees its keys 0..i
};

// The sequences of a ragged batch: sequence s has queries [q_offsets[s], q_offsets[s + 1]) and keys
// [k_offsets[s], k_offsets[s + 1]); rows[s] is its global row. A sequence may have no keys: its
// output is zero. Rows past the last offset are filler.
template <class Space>
struct Sequences {
    View<const std::int32_t, Space> q_offsets, k_offsets;
    View<const std::uint32_t, Space> rows;
    // No sequence has more queries or keys; 0 says nothing. A GPU's launch is sized by them, since
    // the offsets are in its memory, so they should be close and repeat from batch to batch.
    std::int32_t longest_q = 0, longest_k = 0;
};

// out [q_total, heads * head_dim]; log_sum_exp [heads * q_total], head-major, for backward.
// Attention dropout: word (key position % 4) of Philox {site + head, global row, query position,
// key position / 4}. Writes zeros to filler rows of out. No [T, T] matrix is kept. On GPUs also for
// fp16, head_dim is at most 256, and a causal sequence with unequal offsets is not noticed.
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

// The gradients of biases that were added to q, k and v: = or += the sums over the rows of dq, dk
// and dv, where `q` is not empty. Sums of 16-bit gradients may be those before they were rounded.
template <class Space>
struct AttentionBiases {
    View<float, Space> q, k, v;
    Into into = Into::overwrite;
};

// Overwrites dq, dk, dv, with zeros in filler rows. Recomputes the probabilities from log_sum_exp.
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

// What computes the attention of 16-bit matrices whose heads have so many columns, for the user,
// where a library might; else empty. `dropout` is training's rate.
inline std::string describe_attention(CpuContext&, int, float) { return ""; }
std::string describe_attention(CudaContext& ctx, int head_dim, float dropout);

// Decoding: one query per sequence, keys and values in a cache. Sequence s attends to cache rows
// [begin[s], begin[s] + length[s]). q, out [sequences, heads * head_dim].
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
