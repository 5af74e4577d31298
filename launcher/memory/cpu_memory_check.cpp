// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/cpu_memory_check.hpp"

#include <algorithm>
#include <optional>

#include "launcher/memory/planned_rank.hpp"
#include "launcher/plan/run_plan.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "launcher/rank/shared_refusal.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

std::string run_of(const SharedNeed& shared) {
    return shared.ranks == 1 ? std::string("this run takes ")
                             : "the " + std::to_string(shared.ranks) + " ranks that share it take ";
}

std::string refusal(const SharedNeed& shared, const MemoryLimit& limit, const MemoryWords& words) {
    return limit.owner + " " + bytes_text(limit.bytes) + " of memory, and " + run_of(shared) +
           "at least " + bytes_text(shared.need.certain) + " for " + words.parts + ": ";
}

std::string shortage(const SharedNeed& shared, const MemoryLimit& limit, const MemoryWords& words) {
    return "warning: " + limit.owner + " " + bytes_text(limit.bytes) + " of memory, of which " +
           bytes_text(limit.free) + " are free, and " + run_of(shared) + "up to " +
           bytes_text(shared.need.planned) + ": the kernel may kill it" + words.more;
}

int sharing_ranks(const RunConfig& config, const comm::RankInfo& self) {
    return train::sharing_ranks(config.train.zero, self.size / train::ranks_of_place(config.train));
}

// A lower bound: what other ranks may have less of does not count.
std::int64_t certain_bytes(const plan::RunPlan& plan, const RunConfig& config,
                           const comm::RankInfo& self) {
    const bool copies = self.rank == 0 || sharing_ranks(config, self) > 1;
    std::int64_t bytes = plan.certain_bytes() - plan.varying.rows_ahead - plan.varying.replies;
    if (self.size > 1) bytes -= plan.varying.lane_sums;
    if (!copies) bytes -= plan.varying.copy;
    const std::int64_t activations =
        plan.epoch ? plan.epoch->largest.activations : plan.batch.activations;
    return bytes - activations + (plan.epoch ? plan.epoch->on_every_rank : 0);
}

MemoryNeed need_of(const plan::RunPlan& plan, const RunConfig& config, const comm::RankInfo& self) {
    MemoryNeed need;
    need.certain = std::max<std::int64_t>(certain_bytes(plan, config, self), 0);
    for (const plan::Part& part : plan.parts)  // the program is there already
        if (part.known == plan::Known::exactly) need.planned += part.bytes;
    const bool copies = self.rank == 0 || sharing_ranks(config, self) > 1;
    if (!copies) need.planned -= plan.varying.copy;
    return need;
}

// Returns the options with which the run fits, if there are some.
std::string remedy_within(RunConfig asked, const model::RecomputePlan& recompute,
                          std::int64_t bytes) {
    asked.memory_bytes = bytes;
    const auto plan = plan_if_possible(asked, recompute, plan::Scope::whole);
    std::vector<std::string> ways;
    if (plan && !plan->fitting_level().empty())
        ways.push_back("give --recompute " + plan->fitting_level());
    if (plan && plan->size.fits > 0)
        ways.push_back("give " + plan->size.option + " " + std::to_string(plan->size.fits) +
                       " with a larger --update-freq");
    asked.fit = Fit::automatic;
    asked.given.erase("recompute");
    const auto fitted = plan_if_possible(asked, recompute, plan::Scope::whole);
    if (ways.empty() && fitted && fitted->fits())
        ways.emplace_back("give what `lockstep plan --fit auto` finds");
    if (ways.empty()) ways.emplace_back("take a smaller model");
    std::string text = ways.front();
    for (std::size_t i = 1; i < ways.size(); ++i) text += ", or " + ways[i];
    return text;
}

}  // namespace

void require_memory(const MemoryNeed& own, const std::vector<MemoryLimit>& limits,
                    comm::Communicator& communicator, const comm::RankInfo& self,
                    const MemoryRemedy& remedy, const MemoryWarning& warn,
                    const MemoryWords& words) {
    const std::vector<SharedNeed> needs = shared_needs(own, limits, communicator);
    std::optional<std::size_t> refused, scarce;
    for (std::size_t i = 0; i < limits.size(); ++i) {
        const auto tighter = [&](const std::optional<std::size_t>& other) {
            return !other || limits[i].bytes < limits[*other].bytes;
        };
        if (needs[i].need.certain > limits[i].bytes && tighter(refused)) refused = i;
        if (needs[i].need.planned > limits[i].free && tighter(scarce)) scarce = i;
    }
    std::vector<std::uint64_t> without{refused ? 1U : 0U};
    communicator.all_reduce(view_of(without), comm::ReduceOp::sum, "memory");
    communicator.finish();
    if (without.front() == 0) {
        if (scarce && needs[*scarce].first_rank == self.rank)
            warn(shortage(needs[*scarce], limits[*scarce], words));
        return;
    }
    const bool tells = refused && needs[*refused].first_rank == self.rank;
    std::string why = "another rank has no room for this run in its memory";
    if (tells)
        why = refusal(needs[*refused], limits[*refused], words) +
              remedy(limits[*refused].bytes / needs[*refused].ranks) + ", or " +
              limits[*refused].to_raise + words.more;
    refuse_together(communicator, self, tells ? Teller::this_rank : Teller::another,
                    Error(ErrorKind::config, why));
}

void require_cpu_memory(const RunConfig& config, const model::ModelConfig& model,
                        const model::RecomputePlan& recompute, const Job& job) {
    RunConfig asked = planned_rank(config, model, job);
    asked.precision = job.device.precision == train::Precision::bf16 ? PrecisionChoice::bf16
                                                                     : PrecisionChoice::fp32;
    const auto plan = plan_first_epoch(asked, recompute);
    const MemoryNeed need = plan ? need_of(*plan, config, job.rank_info) : MemoryNeed();
    require_memory(
        need, memory_limits(), *job.communicator, job.rank_info,
        [&](std::int64_t bytes) { return remedy_within(asked, recompute, bytes); },
        warn_on_standard_error);
}

}  // namespace lockstep::launcher
