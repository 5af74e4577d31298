// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::bench {

// Of one call of `work`, which queues on the context's stream: by the GPU's clock, the mean of
// several after a few untimed ones.
double gpu_seconds(device::CudaContext& ctx, const std::function<void()>& work);

}  // namespace lockstep::bench
