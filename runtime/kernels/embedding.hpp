// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;

// y[i] = scale * table[tokens[i]] + position_table[positions[i]] for i < real; rows of filler
// (i >= real) become zero. table [V, d], position_table [P, d], y [total, d].
template <class T>
void embedding_forward(CpuContext& ctx, HostView<const std::int32_t> tokens,
                       HostView<const std::int32_t> positions, std::int64_t real, float scale,
                       HostMatrix<const T> table, HostMatrix<const T> position_table,
                       HostMatrix<T> y);

// d_table[tokens[i]] += scale * dy[i] for i < real. Deterministic: the sum runs in order of i.
template <class T>
void add_embedding_backward(CpuContext& ctx, HostView<const std::int32_t> tokens,
                            std::int64_t real, float scale, HostMatrix<const T> dy,
                            HostMatrix<float> d_table);

}  // namespace lockstep::kernels
