// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// backward turns by the opposite angle: it makes gradients of what was turned from gradients of the
// result.
enum class Turn : std::uint8_t { forward, backward };

// Turns the heads of x [rows, heads * head_dim] in place by the positions of their rows, as
// transformers does: columns j and j + n of a head are a pair, where n is the number of
// frequencies, and turn by the angle positions[row] * frequencies[j], a product in fp32; `scale`
// multiplies the result. Columns from 2 n on stay as they are. Sines, cosines and sums are in fp32,
// and a result is rounded once.
template <class T, class Space>
struct Rotary {
    View<const std::int32_t, Space> positions;
    View<const float, Space> frequencies;
    float scale = 1;
    Turn turn = Turn::forward;
    int head_dim = 0;
    MatrixView<T, Space> x;
};
template <class T>
void rotate(CpuContext& ctx, const Rotary<T, HostSpace>& operands);
template <class T>
void rotate(CudaContext& ctx, const Rotary<T, CudaSpace>& operands);

}  // namespace lockstep::kernels
