// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/planned_rank.hpp"

#include "launcher/host/gpus.hpp"
#include "launcher/plan/run_plan.hpp"

namespace lockstep::launcher {

RunConfig planned_rank(const RunConfig& config, const model::ModelConfig& model, const Job& job) {
    RunConfig asked = plan::with_model(config, model);
    const comm::RankInfo& rank_info = job.rank_info;
    asked.world_size = rank_info.size;
    asked.device = job.device.gpu ? DeviceChoice::cuda : DeviceChoice::cpu;
    asked.memory_bytes = job.device.gpu ? free_gpu_bytes(job.device.gpu->number)
                                        : plan::host_bytes_of_rank(rank_info.local_size);
    if (job.device.gpu && job.device.settings.backend == comm::GpuBackend::staged)
        asked.gpu.backend = GpuBackendChoice::staged;
    return asked;
}

}  // namespace lockstep::launcher
