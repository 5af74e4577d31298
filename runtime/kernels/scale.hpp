// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Computes x *= factor elementwise.
template <class T>
void scale(CpuContext& ctx, float factor, HostMatrix<T> x);
template <class T>
void scale(CudaContext& ctx, float factor, CudaMatrix<T> x);

}  // namespace lockstep::kernels
