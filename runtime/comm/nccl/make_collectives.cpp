// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/nccl/make_collectives.hpp"

#include "runtime/comm/nccl/local_collectives.hpp"
#include "runtime/comm/nccl/nccl_communicator.hpp"
#include "runtime/comm/nccl/nccl_join.hpp"
#include "runtime/comm/nccl/staged_collectives.hpp"

namespace lockstep::comm {

std::unique_ptr<Collectives<CudaSpace>> make_collectives(device::CudaContext& context,
                                                         Communicator& host, GpuBackend backend,
                                                         int timeout_ms, RankProgress* progress) {
    if (host.size() == 1) return std::make_unique<LocalCollectives>(context);
    if (backend == GpuBackend::staged) return std::make_unique<StagedCollectives>(context, host);
    if (progress != nullptr) progress->watch_device([] { return Activity{0, nccl_join, true}; });
    auto joined = std::make_unique<NcclCommunicator>(context, host, timeout_ms);
    // An exception skips this line, so the join stays recorded as what the rank was doing.
    if (progress != nullptr) progress->watch_device({});
    // The watchdog knows whether the rank that the others wait for makes progress.
    if (progress != nullptr) joined->set_timeout(unlimited_ms);
    return joined;
}

std::string why_no_nccl() {
    try {
        const NcclLibrary library;
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

}  // namespace lockstep::comm
