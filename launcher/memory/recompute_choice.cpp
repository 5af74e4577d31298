// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/recompute_choice.hpp"

#include "launcher/memory/planned_rank.hpp"
#include "launcher/plan/run_plan.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

model::RecomputePlan recompute_of(const RunConfig& config, const model::ModelConfig& model,
                                  const Job& job, Log& log) {
    if (config.recompute) return *config.recompute;
    try {
        const plan::RunPlan plan = plan::plan_run(planned_rank(config, model, job));
        log.info(
            "--recompute auto takes " + model::name(plan.recompute) + ": " +
            bytes_text(plan.total_bytes()) + " of " + bytes_text(plan.device.bytes) +
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
