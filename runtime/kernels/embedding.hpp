// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/into.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Calculates y[i] = scale * table[tokens[i]] + position_table[positions[i]] for i < real[0]. Rows
// of filler (i >= real[0]) become zero. If an id is outside of its table, the row becomes NaN on a
// GPU; the CPU throws. Shapes: table [V, d], position_table [P, d], y [total, d]. `real` lies in
// the device's memory as the last of a batch's offsets, because it changes while shapes repeat.
template <class T, class Space>
struct EmbeddingForward {
    View<const std::int32_t, Space> tokens, positions, real;
    float scale;
    MatrixView<const T, Space> table, position_table;
    MatrixView<T, Space> y;
};
template <class T>
void embedding_forward(CpuContext& ctx, const EmbeddingForward<T, HostSpace>& operands);
template <class T>
void embedding_forward(CudaContext& ctx, const EmbeddingForward<T, CudaSpace>& operands);

// Calculates d_table[tokens[i]] += scale * dy[i] for i < real[0]. If `into` is overwrite, the whole
// table is set to zero first; its rows must then have no gaps. If there are `slots`, one for each
// id, the row is slots[tokens[i]] instead. Deterministic: only the tokens decide the order of the
// sum. GPUs ignore ids that are outside of the table or have no slot in it; the CPU throws.
template <class T, class Space>
struct EmbeddingBackward {
    View<const std::int32_t, Space> tokens, real;
    float scale;
    MatrixView<const T, Space> dy;
    MatrixView<float, Space> d_table;
    Into into;
    View<const std::int32_t, Space> slots = {};
};
template <class T>
void embedding_backward(CpuContext& ctx, const EmbeddingBackward<T, HostSpace>& operands);
template <class T>
void embedding_backward(CudaContext& ctx, const EmbeddingBackward<T, CudaSpace>& operands);

// Calculates d_table[p] = or += the sum of the rows of dy at position p of their sequences, which
// are those with offsets[s] + p < offsets[s + 1]. Deterministic. A sequence must not be longer than
// the table; filler comes after the last offset.
template <class T>
void position_backward(CpuContext& ctx, HostView<const std::int32_t> offsets,
                       HostMatrix<const T> dy, HostMatrix<float> d_table, Into into);
template <class T>
void position_backward(CudaContext& ctx, CudaView<const std::int32_t> offsets,
                       CudaMatrix<const T> dy, CudaMatrix<float> d_table, Into into);

}  // namespace lockstep::kernels
