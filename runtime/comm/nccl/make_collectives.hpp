// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/gpu_backend.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::comm {

// For the GPUs of the ranks of `host`; `backend` says how where there are several, the same on all.
// Collective; waits at most `timeout_ms`, which is also the time-out of one of NCCL's operations:
// staged ones have the host's. Both outlive the result. Who watches is told while NCCL joins the
// ranks; nobody need watch.
std::unique_ptr<Collectives<CudaSpace>> make_collectives(device::CudaContext& context,
                                                         Communicator& host, GpuBackend backend,
                                                         int timeout_ms, RankProgress* whereabouts);

// Empty where NCCL can be opened.
std::string why_no_nccl();

}  // namespace lockstep::comm
