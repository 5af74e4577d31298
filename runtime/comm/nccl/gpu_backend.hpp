// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::comm {

// Selects how several GPUs reduce. `staged` copies to the host's memory and uses the host's
// communicator.
enum class GpuBackend { nccl, staged };

}  // namespace lockstep::comm
