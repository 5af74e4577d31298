// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/cuda_context.hpp"

namespace lockstep::comm {

// For the GPUs of the ranks of `host`, by NCCL where there are several. Collective; waits at most
// `timeout_ms`, which is also the time-out of one operation. Both outlive the result.
std::unique_ptr<Collectives<CudaSpace>> make_collectives(device::CudaContext& context,
                                                         Communicator& host, int timeout_ms);

}  // namespace lockstep::comm
