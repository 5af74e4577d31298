// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/view.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/device/dry_context.hpp"

namespace lockstep::device {

// Kernels are overloaded on the context. CudaContext is defined in cuda_context.hpp, which needs
// CUDA's headers. A build without CUDA declares the overloads for it but does not define them.
class CudaContext;

template <class T, class From, class To>
void copy(CudaContext& ctx, View<const T, From> from, View<T, To> to);

}  // namespace lockstep::device
