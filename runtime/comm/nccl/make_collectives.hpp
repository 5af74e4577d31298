// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/gpu_backend.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::comm {

// Makes the collectives for the GPUs of the ranks of `host`. `backend` must be the same on all
// ranks; it is used only if there are several. The call is collective and waits at most
// `timeout_ms`, which is also the time-out of one NCCL operation unless there is a
// watchdog; staged operations use the time-out of `host`. `context` and `host` must outlive the
// result. `progress` is told while NCCL joins the ranks; it is null if there is no watchdog.
std::unique_ptr<Collectives<CudaSpace>> make_collectives(device::CudaContext& context,
                                                         Communicator& host, GpuBackend backend,
                                                         int timeout_ms, RankProgress* progress);

// Returns the reason why NCCL cannot be opened; an empty text if it can.
std::string why_no_nccl();

}  // namespace lockstep::comm
