// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/recompute_choice.hpp"

#include <algorithm>

#include "launcher/host/gpus.hpp"
#include "launcher/plan/run_plan.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

RunConfig planned_rank(const RunConfig& config, const model::ModelConfig& model, const Job& job) {
    RunConfig asked = plan::with_model(config, model);
    const comm::RankInfo& rank_info = job.rank_info;
    asked.world_size = rank_info.size;
    // A continued run may have more ranks than lanes, which the planner refuses.
    if (asked.batch.logical_shards > 0)
        asked.batch.logical_shards =
            std::max<std::int64_t>(asked.batch.logical_shards, rank_info.size);
    asked.device = job.device.gpu ? DeviceChoice::cuda : DeviceChoice::cpu;
    asked.memory_bytes = job.device.gpu ? free_gpu_bytes(job.device.gpu->number)
                                        : plan::host_bytes_of_rank(rank_info.local_size);
    if (job.device.gpu && job.device.settings.backend == comm::GpuBackend::staged)
        asked.gpu.backend = GpuBackendChoice::staged;
    return asked;
}

}  // namespace

model::RecomputePlan recompute_of(const RunConfig& config, const model::ModelConfig& model,
                                  const Job& job, Log& log) {
    if (config.recompute) return *config.recompute;
    try {
        const plan::RunPlan plan = plan::plan_run(planned_rank(config, model, job));
        log.info(
            "--recompute auto takes " + model::name(plan.recompute) + ": " +
            bytes_text(plan.total_bytes()) + " of " + bytes_text(plan.machine.bytes) +
            (plan.fits() ? "" : ", which may be too little: `lockstep plan` says what takes it"));
        return plan.recompute;
    } catch (const Error& error) {
        // Training does not need the data set's index.
        if (error.kind() == ErrorKind::config) throw;
        log.error("warning: --recompute auto takes layer, because the run cannot be planned: " +
                  std::string(error.what()));
        return {model::Recompute::layer};
    }
}

}  // namespace lockstep::launcher
