// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/run_memory.hpp"

#include "launcher/plan/run_plan.hpp"
#include "launcher/train/planned_rank.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/peak_memory.hpp"

namespace lockstep::launcher {

namespace {

std::vector<std::uint64_t> peaks_of_ranks(comm::Communicator& ranks) {
    std::vector<std::uint64_t> peaks(static_cast<std::size_t>(ranks.size()));
    peaks[static_cast<std::size_t>(ranks.rank())] = peak_memory_bytes();
    ranks.all_reduce(view_of(peaks), comm::ReduceOp::sum, "memory");
    ranks.finish();
    return peaks;
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
    memory.peaks = peaks_of_ranks(*job.communicator);
    if (job.rank_info.rank == 0)
        memory.planned = planned_parts(planned_rank(config, model, job), recompute);
    return memory;
}

}  // namespace lockstep::launcher
