// SPDX-License-Identifier: Apache-2.0
#include "launcher/torchrun/launch_plan.hpp"

#include "launcher/processes/lockstep_command.hpp"
#include "launcher/processes/openmp_wait_policy.hpp"
#include "launcher/text/line_time.hpp"
#include "runtime/comm/environment/started_ranks.hpp"

namespace lockstep::launcher {

namespace {

// Returns the variables that are the same for every rank of this attempt.
comm::Environment shared_variables(const LaunchPlan& plan, int attempt,
                                   const comm::Environment& base) {
    // The ranks of several hosts are tasks of a Slurm step, if there is one.
    comm::Environment variables = comm::without_outer_ranks(
        base, plan.nodes == 1 ? comm::SlurmTask::is_removed : comm::SlurmTask::stays);
    const std::string size = std::to_string(plan.nodes * plan.ranks_per_node);
    const int port = plan.master_port == 0 ? free_port() : plan.master_port;
    variables["WORLD_SIZE"] = variables["ROLE_WORLD_SIZE"] = size;
    variables["LOCAL_WORLD_SIZE"] = std::to_string(plan.ranks_per_node);
    variables["GROUP_RANK"] = std::to_string(plan.node_rank);
    variables["GROUP_WORLD_SIZE"] = std::to_string(plan.nodes);
    variables["ROLE_NAME"] = plan.role;
    variables["MASTER_ADDR"] = plan.master_addr;
    variables["MASTER_PORT"] = std::to_string(port);
    variables["TORCHELASTIC_RESTART_COUNT"] = std::to_string(attempt);
    variables["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(plan.max_restarts);
    variables["TORCHELASTIC_RUN_ID"] = plan.run_id;
    // torch's rank 0 must serve its own store because no agent serves one at MASTER_PORT.
    variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
    variables.try_emplace("OMP_NUM_THREADS", std::to_string(plan.threads_per_rank));
    if (!lockstep_program(plan.command).empty()) set_openmp_wait_policy(variables);
    const bool own = plan.secret.empty() && plan.nodes == 1;
    const comm::Secret secret = own ? comm::Secret::make() : plan.secret;
    if (!secret.empty()) variables[comm::Secret::variable] = secret.text();
    return variables;
}

// A rank whose streams go to files puts the time before its lines there.
void ask_for_times(const LaunchPlan& plan, int local, comm::Environment& variables) {
    if (plan.log_folder.empty()) return;
    const auto is_kept = [](Sink sink) { return sink == Sink::file || sink == Sink::both; };
    const StreamSinks& sinks = plan.sinks.at(static_cast<std::size_t>(local));
    const int streams = (is_kept(sinks.output) ? static_cast<int>(TimedStream::output) : 0) +
                        (is_kept(sinks.error) ? static_cast<int>(TimedStream::error) : 0);
    if (streams != 0) variables.try_emplace(log_times_variable, std::to_string(streams));
}

}  // namespace

std::vector<ProcessSpec> launched_ranks(const LaunchPlan& plan, int attempt,
                                        const comm::Environment& base) {
    const comm::Environment shared = shared_variables(plan, attempt, base);
    std::vector<ProcessSpec> processes;
    for (int local = 0; local < plan.ranks_per_node; ++local) {
        ProcessSpec process;
        process.command = plan.command;
        process.environment = shared;
        auto& variables = process.environment;
        const int rank = plan.node_rank * plan.ranks_per_node + local;
        variables["RANK"] = variables["ROLE_RANK"] = std::to_string(rank);
        variables["LOCAL_RANK"] = std::to_string(local);
        ask_for_times(plan, local, variables);
        if (plan.local_rank_by == LocalRankBy::own_argument) {
            process.command.push_back("--local-rank=" + std::to_string(local));
        }
        processes.push_back(std::move(process));
    }
    return processes;
}

}  // namespace lockstep::launcher
