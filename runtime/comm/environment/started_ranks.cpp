// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/started_ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/comm/environment/other_launchers.hpp"
#include "runtime/comm/environment/pmix_check.hpp"
#include "runtime/comm/environment/slurm_variables.hpp"
#include "runtime/comm/environment/variables.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

constexpr std::array<std::string_view, 52> outer_names{
    // torch.distributed's and torchrun's
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
    "ROLE_RANK", "ROLE_WORLD_SIZE", "ROLE_NAME", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT",
    "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
    "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_ERROR_FILE",
    // torchrun's options
    "PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT",
    "PET_LOCAL_ADDR", "PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT", "PET_RDZV_ID", "PET_RDZV_CONF",
    "PET_STANDALONE", "PET_MAX_RESTARTS", "PET_MONITOR_INTERVAL", "PET_START_METHOD", "PET_ROLE",
    "PET_MODULE", "PET_NO_PYTHON", "PET_RUN_PATH", "PET_LOG_DIR", "PET_REDIRECTS", "PET_TEE",
    "PET_LOCAL_RANKS_FILTER", "PET_EVENT_LOG_HANDLER", "PET_SIGNALS_TO_HANDLE",
    "PET_SHUTDOWN_TIMEOUT",
    // MPI's
    "OMPI_UNIVERSE_SIZE", "OMPI_NUM_APP_CTX", "OMPI_FIRST_RANKS", "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_FILE_LOCATION", "OMPI_COMMAND", "OMPI_ARGV", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
    "HYDI_CONTROL_FD"};

constexpr std::array<std::string_view, 7> outer_prefixes{
    "OMPI_COMM_WORLD_", "OMPI_MCA_orte_", "OMPI_MCA_ess_", "PMIX_", "PMI_", "PMI2_",
    "MV2_COMM_WORLD_"};

constexpr std::array<std::string_view, 20> task_names{"SLURM_PROCID",
                                                      "SLURM_LOCALID",
                                                      "SLURM_NODEID",
                                                      "SLURM_GTIDS",
                                                      "SLURM_TASK_PID",
                                                      "SLURM_NTASKS",
                                                      "SLURM_NPROCS",
                                                      "SLURM_STEP_ID",
                                                      "SLURM_STEPID",
                                                      "SLURM_STEP_NUM_TASKS",
                                                      "SLURM_STEP_NUM_NODES",
                                                      "SLURM_STEP_TASKS_PER_NODE",
                                                      "SLURM_STEP_NODELIST",
                                                      "SLURM_STEP_LAUNCHER_PORT",
                                                      "SLURM_LAUNCH_NODE_IPADDR",
                                                      "SLURM_SRUN_COMM_HOST",
                                                      "SLURM_SRUN_COMM_PORT",
                                                      "SLURM_PTY_PORT",
                                                      "SLURM_PTY_WIN_COL",
                                                      "SLURM_PTY_WIN_ROW"};

bool is_outer(std::string_view name) {
    constexpr std::string_view settings = "PMIX_MCA_";  // the user's own
    return std::ranges::find(outer_names, name) != outer_names.end() ||
           (!name.starts_with(settings) && std::ranges::any_of(outer_prefixes, [&](auto prefix) {
               return name.starts_with(prefix);
           }));
}

std::optional<StartedRanks> several(const Variables& variables, const std::string& name) {
    const auto count = variables.number(name);
    return count && *count > 1 ? std::optional(StartedRanks{*count, name}) : std::nullopt;
}

// A rank is started by a launcher on its host, which may know better.
std::optional<StartedRanks> hosts(const Variables& variables, int (*count)(const Variables&),
                                  const char* name) {
    for (const char* rank : {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
        if (variables.has(rank)) return std::nullopt;
    const int found = count(variables);
    return found > 1 ? std::optional(StartedRanks{found, name, StartedKind::hosts}) : std::nullopt;
}

// Everything that is typed into a terminal is a command of its own, also where the terminal belongs
// to a rank.
std::optional<StartedRanks> tasks(const Environment& environment, StandardInput input) {
    const Variables variables(environment);
    const bool typed = input == StandardInput::terminal;
    if (in_slurm_step(variables) && slurm_size(variables) > 1 && !typed &&
        !typed_into_task(variables))
        return StartedRanks{slurm_size(variables), variables.has("SLURM_STEP_NUM_TASKS")
                                                       ? "SLURM_STEP_NUM_TASKS"
                                                       : "SLURM_NTASKS"};
    if (typed) return std::nullopt;
    if (const auto ranks = several(variables, "OMPI_COMM_WORLD_SIZE"))
        return pmix_daemon_is_gone(environment) ? std::nullopt : std::optional(ranks);
    if (in_slurm_step(variables)) return std::nullopt;
    for (const char* size : other_mpi_sizes)
        if (auto ranks = several(variables, size)) return ranks;
    // A job script of Flux may keep the size of its job.
    for (const TaskManager& one : task_managers)
        if (auto ranks = several(variables, one.size); ranks && variables.has(one.rank))
            return ranks;
    return hosts(variables, count_sagemaker_hosts, sagemaker_hosts);
}

}  // namespace

StandardInput own_standard_input() {
    return ::isatty(STDIN_FILENO) == 1 ? StandardInput::terminal : StandardInput::other;
}

std::optional<StartedRanks> started_tasks(const Environment& environment, StandardInput input) {
    try {
        return tasks(environment, input);
    } catch (const Error&) {
        return std::nullopt;  // a program that needs the variables refuses them
    }
}

std::optional<StartedRanks> started_ranks(const Environment& environment, StandardInput input) {
    if (auto ranks = started_tasks(environment, input)) return ranks;
    try {
        const Variables variables(environment);
        if (auto ranks = several(variables, "WORLD_SIZE")) return ranks;
        return hosts(variables, count_trainer_hosts, trainer_hosts);
    } catch (const Error&) {
        return std::nullopt;
    }
}

Environment without_outer_ranks(const Environment& environment, SlurmTask task) {
    Environment result;
    for (const auto& [name, value] : environment) {
        const bool of_task = std::ranges::find(task_names, name) != task_names.end();
        if (is_outer(name) || (of_task && task == SlurmTask::is_removed)) continue;
        result.emplace(name, value);
    }
    return result;
}

}  // namespace lockstep::comm
