// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/run_memory.hpp"

#include <algorithm>

#include "launcher/host/gpus.hpp"
#include "launcher/memory/planned_rank.hpp"
#include "launcher/plan/run_plan.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/peak_memory.hpp"

namespace lockstep::launcher {

namespace {

// Returns the values of all ranks.
std::vector<std::uint64_t> of_ranks(comm::Communicator& ranks, std::uint64_t own) {
    std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks.size()));
    all[static_cast<std::size_t>(ranks.rank())] = own;
    ranks.all_reduce(view_of(all), comm::ReduceOp::sum, "memory");
    ranks.finish();
    return all;
}

// Returns 0 if the driver does not tell: a run that has trained must not fail for this.
std::uint64_t in_use(const GpuAssignment& gpu) {
    try {
        const auto free = static_cast<std::uint64_t>(free_gpu_bytes(gpu.number));
        return gpu.identity.bytes - std::min<std::uint64_t>(gpu.identity.bytes, free);
    } catch (const Error&) {
        return 0;
    }
}

// Returns nothing when the index cannot be read, because training does not need it.
std::vector<plan::Part> planned_parts(RunConfig asked, const model::RecomputePlan& recompute) {
    asked.recompute = recompute;
    try {
        return plan::plan_run(asked, plan::Scope::first_epoch).parts;
    } catch (const Error&) {
        return {};
    }
}

}  // namespace

// The peaks come first, so that they are those of training and not of the plan.
MemoryRecord memory_of_run(const RunConfig& config, const model::ModelConfig& model,
                           const model::RecomputePlan& recompute, const Job& job) {
    MemoryRecord memory;
    memory.peaks = of_ranks(*job.communicator, peak_memory_bytes());
    if (job.device.gpu) memory.on_gpus = of_ranks(*job.communicator, in_use(*job.device.gpu));
    if (job.rank_info.rank == 0)
        memory.planned = planned_parts(planned_rank(config, model, job), recompute);
    return memory;
}

}  // namespace lockstep::launcher
