// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::comm {

// How several GPUs reduce. staged: by copies to the host and its communicator.
enum class GpuBackend { nccl, staged };

}  // namespace lockstep::comm
