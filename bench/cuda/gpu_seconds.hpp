// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::bench {

// Returns the seconds of one call of `work`, which queues on the context's stream: the mean of
// several calls by the GPU's clock, after a few untimed ones.
double gpu_seconds(device::CudaContext& ctx, const std::function<void()>& work);

}  // namespace lockstep::bench
