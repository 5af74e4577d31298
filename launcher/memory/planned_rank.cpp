// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/planned_rank.hpp"

#include "launcher/host/gpus.hpp"
#include "launcher/rank/data_place.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

RunConfig planned_rank(const RunConfig& config, const model::ModelConfig& model, const Job& job) {
    RunConfig asked = plan::with_model(config, model);
    const comm::RankInfo& rank_info = job.rank_info;
    asked.world_size = rank_info.size;
    asked.planned_stage = stage_of(config, rank_info).number;
    asked.device = job.device.gpu ? DeviceChoice::cuda : DeviceChoice::cpu;
    asked.memory_bytes = job.device.gpu ? free_gpu_bytes(job.device.gpu->number)
                                        : plan::host_bytes_of_rank(rank_info.local_size);
    if (job.device.gpu && job.device.settings.backend == comm::GpuBackend::staged)
        asked.gpu.backend = GpuBackendChoice::staged;
    return asked;
}

std::optional<plan::RunPlan> plan_if_possible(RunConfig asked,
                                              const model::RecomputePlan& recompute,
                                              plan::Scope scope) {
    asked.recompute = recompute;
    try {
        return plan::plan_run(asked, scope);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::optional<plan::RunPlan> plan_first_epoch(const RunConfig& asked,
                                              const model::RecomputePlan& recompute) {
    auto plan = plan_if_possible(asked, recompute, plan::Scope::first_epoch);
    if (plan) return plan;
    RunConfig without_data = asked;
    without_data.data.clear();
    without_data.batch = {};
    without_data.vocabulary = asked.model.vocabulary;
    return plan_if_possible(without_data, recompute, plan::Scope::whole);
}

}  // namespace lockstep::launcher
