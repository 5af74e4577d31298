// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/slurm_variables.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/comm/environment/slurm_nodes.hpp"

namespace lockstep::comm {

namespace {

// Slurm gives numbers from here on to steps that have no tasks: batch scripts and salloc's own
// shell.
constexpr std::int64_t first_special_step = 0xFFFFFFF0;

// Returns a port that depends on the job, so that jobs on one host rarely choose the same. The
// store takes the first free port from there.
int port_of_job(std::int64_t job, std::int64_t step) {
    constexpr int first = 20000;
    constexpr int ports_per_job = 16;
    constexpr int slots = 625;
    return first + ports_per_job * static_cast<int>((job * 7 + step) % slots);
}

void add_slurm_master(const Variables& variables, RankInfo& rank_info) {
    const auto job = variables.whole("SLURM_JOB_ID").value_or(0);
    const auto step = variables.whole("SLURM_STEP_ID").value_or(0);
    rank_info.job = std::to_string(job) + "." + std::to_string(step);
    const auto restarts = variables.whole("SLURM_RESTART_COUNT").value_or(0);
    if (restarts > 0) rank_info.job += " restart " + std::to_string(restarts);
    auto nodes = variables.find("SLURM_STEP_NODELIST");
    if (!nodes) nodes = variables.find("SLURM_NODELIST");
    if (!nodes) return;
    rank_info.master_addr = first_node(*nodes);
    rank_info.master_port = port_of_job(job, step);
}

// Returns the number of ranks on this node, if Slurm told it. "4(x2),3" lists the tasks on each
// node of the step; SLURM_NODEID is the index of this rank's node.
std::optional<int> slurm_local_size(const Variables& variables) {
    const auto tasks = variables.find("SLURM_STEP_TASKS_PER_NODE");
    const auto node = variables.number("SLURM_NODEID");
    if (!tasks || !node) return std::nullopt;
    return tasks_on_node(*tasks, *node);
}

// Under --pty only the first task has the terminal. A command typed into its shell is not itself a
// task and would wait for tasks that have ended.
void refuse_typed_into_task(const Variables& variables, int tasks) {
    const auto task = variables.whole("SLURM_TASK_PID");
    if (tasks == 1 || !variables.has("SLURM_PTY_PORT") || !task || *task == ::getpid()) return;
    refuse_environment(
        "this shell is one task of a Slurm step of " + std::to_string(tasks) +
        ": type srun --overlap before the command (srun --overlap lockstep distributed_train "
        "...), or use train for one rank");
}

}  // namespace

// Under --pty only the first task has the terminal. Jupyter tells its terminals and kernels so.
bool typed_into_task(const Variables& variables) {
    constexpr std::array<const char*, 6> of_shells{"SLURM_PTY_PORT",      "SLURM_PTY_WIN_COL",
                                                   "SLURM_PTY_WIN_ROW",   "JPY_PARENT_PID",
                                                   "JUPYTER_SERVER_ROOT", "JUPYTER_SERVER_URL"};
    const bool shell =
        std::ranges::any_of(of_shells, [&](const char* name) { return variables.has(name); });
    return shell && variables.whole("SLURM_TASK_PID") != std::int64_t{::getpid()};
}

bool in_slurm_step(const Variables& variables) {
    const auto step = variables.whole("SLURM_STEP_ID");
    return step && *step < first_special_step;
}

int slurm_size(const Variables& variables) {
    const auto step = variables.number("SLURM_STEP_NUM_TASKS");
    return step ? *step : variables.needed("SLURM_NTASKS", "this is a task of a Slurm step");
}

bool in_slurm_job_without_step(const Variables& variables) {
    return (variables.has("SLURM_JOB_ID") || variables.has("SLURM_JOBID")) &&
           !in_slurm_step(variables);
}

RankInfo rank_info_from_slurm(const Variables& variables) {
    const std::string because = "this is a task of a Slurm step";
    RankInfo rank_info;
    rank_info.source = RankSource::slurm;
    rank_info.rank = variables.needed("SLURM_PROCID", because);
    rank_info.size = slurm_size(variables);
    refuse_typed_into_task(variables, rank_info.size);
    rank_info.local_rank = variables.needed("SLURM_LOCALID", because);
    const auto local_size = slurm_local_size(variables);
    rank_info.local_size = local_size.value_or(rank_info.local_rank + 1);
    rank_info.local_size_known = local_size.has_value();
    add_slurm_master(variables, rank_info);
    if (rank_info.master_addr.empty() && rank_info.size > 1) {
        refuse_environment("SLURM_STEP_NODELIST is missing from the environment, although " +
                           because);
    }
    return checked_rank_info(rank_info, "the Slurm step");
}

}  // namespace lockstep::comm
