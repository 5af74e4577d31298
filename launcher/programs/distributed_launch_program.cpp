// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <iostream>

#include "launcher/model_folder/newest_checkpoint.hpp"
#include "launcher/processes/lockstep_command.hpp"
#include "launcher/processes/restarts.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/text/terminal.hpp"
#include "launcher/torchrun/launch_options.hpp"
#include "launcher/torchrun/launch_plan.hpp"
#include "launcher/torchrun/rank_outputs.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/signal_name.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* program = "distributed_launch";

// The ranks may be any program, and their output may go to files.
void tell_request(int signal) {
    print_at_once(std::string(program) + ": " + signal_name(signal) +
                  " is passed on to the ranks; press Ctrl-C " +
                  (signal == SIGINT ? "again to kill them" : "to kill them"));
}

}  // namespace

int distributed_launch_program(const std::vector<std::string>& args) {
    const comm::Environment environment = comm::process_environment();
    const auto plan = parse_launch(args, environment, host_resources(environment));
    if (!plan) return 0;
    GroupOptions ending = plan->ending;
    ending.on_request = tell_request;
    const auto run = [&](int attempt) {
        const RankOutputs outputs(*plan, attempt);
        auto processes = launched_ranks(*plan, attempt, environment);
        outputs.connect(processes);
        return run_process_group(processes, ending);
    };
    RestartPolicy policy;
    policy.max_restarts = plan->max_restarts;
    // The launchers do not talk to each other. The other launchers' ranks end when they lose their
    // peer, and a rank that restarts before that would find the old job's store.
    if (plan->nodes > 1) policy.pause_ms = 2'000;
    const std::string folder = model_folder_of_command(plan->command);
    if (!folder.empty())
        policy.newest_checkpoint = [folder] { return newest_checkpoint_name(folder); };
    const auto failed = [&](const GroupResult& result, const AfterFailure& after) {
        const int rank = plan->node_rank * plan->ranks_per_node + result.failed_rank;
        if (const std::string request = ended_by_request(result); !request.empty()) {
            const std::string last = folder.empty() ? "" : "; " + last_checkpoint_text(folder);
            std::cerr << program << ": " << request << last << std::endl;
            return;
        }
        std::cerr << program << ": rank " << rank << " (local rank " << result.failed_rank << " on "
                  << comm::host_name() << ") " << failure_text(result, after, policy) << std::endl;
    };
    return exit_code_of(run_with_restarts(run, policy, failed));
}

}  // namespace lockstep::launcher
