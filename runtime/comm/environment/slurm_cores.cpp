// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/slurm_cores.hpp"

#include "runtime/comm/environment/slurm_variables.hpp"
#include "runtime/comm/environment/variables.hpp"

namespace lockstep::comm {

std::optional<SlurmCores> slurm_cores(const Environment& environment) {
    const Variables variables(environment);
    const std::optional<std::string> job = variables.find("SLURM_JOB_ID");
    if (!job) return std::nullopt;
    const bool in_step = in_slurm_step(variables);
    const std::string step = *job + (in_step ? "." + *variables.find("SLURM_STEP_ID") : "");
    // A batch script has the variable, too, but is no task: it starts tasks of that size. The ranks
    // of mpirun have those of the task that started all of them on this host.
    const bool is_task = in_step && !variables.has("OMPI_COMM_WORLD_SIZE");
    const std::optional<std::string> task = variables.find("SLURM_PROCID");
    if (is_task && task)
        if (const auto count = variables.number("SLURM_CPUS_PER_TASK"); count.value_or(0) > 0)
            return SlurmCores{*count, "task " + *task + " of " + step};
    const auto count = variables.number("SLURM_CPUS_ON_NODE");
    if (count.value_or(0) < 1) return std::nullopt;
    return SlurmCores{*count, "step " + step};
}

}  // namespace lockstep::comm
