// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/make_collectives.hpp"

#include "runtime/comm/local_collectives.hpp"
#include "runtime/comm/nccl_communicator.hpp"

namespace lockstep::comm {

std::unique_ptr<Collectives<CudaSpace>> make_collectives(device::CudaContext& context,
                                                         Communicator& host, int timeout_ms) {
    if (host.size() == 1) return std::make_unique<LocalCollectives>(context);
    return std::make_unique<NcclCommunicator>(context, host, timeout_ms);
}

}  // namespace lockstep::comm
