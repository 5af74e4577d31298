// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/step_state.hpp"

namespace lockstep::kernels {

using device::CpuContext;

// y = x * mask / (1 - rate), or a copy when the site is inactive. x may be y. Backward is the same
// call on the gradient. Instantiated for float and bf16.
template <class T>
void dropout(CpuContext& ctx, const Dropout& site, TokenPlaces<HostSpace> places,
             HostMatrix<const T> x, HostMatrix<T> y);

}  // namespace lockstep::kernels
