// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/gpu_memory_check.hpp"

#include <optional>
#include <vector>

#include "launcher/host/gpus.hpp"
#include "launcher/plan/run_plan.hpp"
#include "launcher/text/units.hpp"
#include "launcher/train/host_memory_check.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

plan::RunPlan planned(const RunConfig& config, const model::RecomputePlan& recompute,
                      const Job& job, std::int64_t free, plan::Scope scope) {
    RunConfig asked = config;  // of a known model
    asked.recompute = recompute;
    asked.device = DeviceChoice::cuda;
    asked.memory_bytes = free;
    asked.world_size = job.rank_info.size;
    if (job.device.settings.backend == comm::GpuBackend::staged)
        asked.gpu.backend = GpuBackendChoice::staged;
    return plan::plan_run(asked, scope);
}

// Returns nothing when the index cannot be read, because training does not need it.
std::optional<plan::RunPlan> first_epoch(const RunConfig& config,
                                         const model::RecomputePlan& recompute, const Job& job,
                                         std::int64_t free) {
    try {
        return planned(config, recompute, job, free, plan::Scope::first_epoch);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::uint64_t sum_over_ranks(comm::Communicator& communicator, std::uint64_t own) {
    std::vector<std::uint64_t> value{own};
    communicator.all_reduce(view_of(value), comm::ReduceOp::sum, "memory");
    communicator.finish();
    return value.front();
}

std::string too_small(const plan::RunPlan& plan, std::int64_t free) {
    std::string remedy = plan.size.fits > 0
                             ? "give " + plan.size.option + " " + std::to_string(plan.size.fits) +
                                   " with a larger --update-freq"
                             : "take a smaller model";
    const std::string level = plan.fitting_level();
    if (!level.empty()) remedy = "give --recompute " + level + ", or " + remedy;
    return "this run takes at least " + bytes_text(plan.certain_bytes()) +
           " of its GPU's memory, of which " + bytes_text(free) + " are free: " + remedy +
           " (lockstep plan says what takes it)";
}

}  // namespace

std::int64_t activations_to_reserve(const RunConfig& given, const model::ModelConfig& model,
                                    const model::RecomputePlan& recompute, const Job& job,
                                    Log& log) {
    if (!job.device.gpu) return 0;
    const RunConfig config = plan::with_model(given, model);
    const std::int64_t free = free_gpu_bytes(job.device.gpu->number);
    const auto plan = first_epoch(config, recompute, job, free);
    const bool fits = !plan || plan->certain_bytes() <= free;
    const std::uint64_t without_room = sum_over_ranks(*job.communicator, fits ? 0 : 1);
    if (!fits)
        throw Error(ErrorKind::config,
                    too_small(planned(config, recompute, job, free, plan::Scope::whole), free));
    if (without_room > 0)
        throw Error(ErrorKind::config, std::to_string(without_room) +
                                           " of the ranks have no room for this run on their "
                                           "GPU, which they say themselves");
    if (config.train.optimizer.offload == train::Offload::optimizer)
        require_room_to_pin(plan ? plan->pinned_bytes : 0,
                            free_host_bytes(job.rank_info.local_size), *job.communicator);
    if (!plan || !plan->epoch) return 0;
    log.detail("a step takes " + bytes_text(plan->epoch->largest.activations) +
               " of activations in the first epoch, and the run " +
               bytes_text(plan->total_bytes()) + " of the GPU");
    return plan->epoch->largest.activations;
}

}  // namespace lockstep::launcher
