// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/view.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/device/dry_context.hpp"

namespace lockstep::device {

// Kernels are overloaded on the context. This one is defined in cuda_context.hpp, for which CUDA's
// headers are needed; a build without CUDA declares its overloads and has none of them.
class CudaContext;

template <class T, class From, class To>
void copy(CudaContext& ctx, View<const T, From> from, View<T, To> to);

}  // namespace lockstep::device
