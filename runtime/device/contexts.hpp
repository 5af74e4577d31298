// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/view.hpp"
#include "runtime/device/cpu_context.hpp"

namespace lockstep::device {

// Kernels are overloaded on the context. This one is defined in cuda_context.hpp, for which CUDA's
// headers are needed; a build without CUDA declares its overloads and has none of them.
class CudaContext;

}  // namespace lockstep::device
