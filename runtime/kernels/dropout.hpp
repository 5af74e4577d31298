// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/device/contexts.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;
using device::CudaContext;

// Computes y = x * mask / (1 - rate), or copies x if the site is inactive. x may be y. Backward is
// the same call on the gradient. T is float or bf16; on GPUs also fp16.
template <class T>
void dropout(CpuContext& ctx, const Dropout& site, TokenCoordinates<HostSpace> coordinates,
             HostMatrix<const T> x, HostMatrix<T> y);
template <class T>
void dropout(CudaContext& ctx, const Dropout& site, TokenCoordinates<CudaSpace> coordinates,
             CudaMatrix<const T> x, CudaMatrix<T> y);

}  // namespace lockstep::kernels
