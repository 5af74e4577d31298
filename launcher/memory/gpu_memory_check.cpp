// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/gpu_memory_check.hpp"

#include <optional>
#include <vector>

#include "launcher/memory/cpu_memory_check.hpp"
#include "launcher/memory/host_memory_check.hpp"
#include "launcher/memory/planned_rank.hpp"
#include "launcher/plan/run_plan.hpp"
#include "launcher/rank/shared_refusal.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

// Returns what this rank takes of its host's memory. Every rank that shares copies its part.
HostNeed host_need(const plan::RunPlan& plan, const train::ZeroOptions& zero,
                   const comm::RankInfo& rank_info) {
    const bool copies = rank_info.rank == 0 || train::sharing_ranks(zero, rank_info.size) > 1;
    return {plan.pinned_bytes, copies ? plan.host_bytes : 0};
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
                             : "take smaller batches or a smaller model";
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
    if (!job.device.gpu) {
        require_cpu_memory(given, model, recompute, job);
        return 0;
    }
    const RunConfig asked = planned_rank(given, model, job);
    const std::int64_t free = asked.memory_bytes;
    const auto plan = plan_first_epoch(asked, recompute);
    const bool fits = !plan || !plan->epoch || plan->certain_bytes() <= free;
    if (sum_over_ranks(*job.communicator, fits ? 0 : 1) > 0) {
        // It must not throw: the other ranks wait in refuse_together().
        const auto whole = fits ? plan : plan_if_possible(asked, recompute, plan::Scope::whole);
        refuse_together(
            *job.communicator, job.rank_info, fits ? Teller::another : Teller::this_rank,
            Error(ErrorKind::config, fits ? "another rank has no room for this run on its GPU"
                                          : too_small(whole ? *whole : *plan, free)));
    }
    if (given.train.optimizer.offload == train::Offload::optimizer)
        require_host_memory(plan ? host_need(*plan, given.train.zero, job.rank_info) : HostNeed(),
                            free_host_bytes(), *job.communicator, job.rank_info);
    if (!plan || !plan->epoch) return 0;
    log.detail("a step takes " + bytes_text(plan->epoch->largest.activations) +
               " of activations in the first epoch, and the run " +
               bytes_text(plan->total_bytes()) + " of the GPU");
    return plan->epoch->largest.activations;
}

}  // namespace lockstep::launcher
