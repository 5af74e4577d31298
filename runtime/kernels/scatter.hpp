// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Copies to[indices[i]] = from[i], row by row; no element of `indices` may occur twice.
template <class T>
void scatter_rows(CpuContext& ctx, HostView<const std::int64_t> indices, HostMatrix<const T> from,
                  HostMatrix<T> to);
template <class T>
void scatter_rows(CudaContext& ctx, CudaView<const std::int64_t> indices, CudaMatrix<const T> from,
                  CudaMatrix<T> to);

// Adds to[i] += from[slots[i]], row by row, if `from` has that row.
void add_gathered_rows(CpuContext& ctx, HostView<const std::int32_t> slots,
                       HostMatrix<const float> from, HostMatrix<float> to);
void add_gathered_rows(CudaContext& ctx, CudaView<const std::int32_t> slots,
                       CudaMatrix<const float> from, CudaMatrix<float> to);

}  // namespace lockstep::kernels
