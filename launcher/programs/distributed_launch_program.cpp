// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "launcher/model_folder/newest_checkpoint.hpp"
#include "launcher/processes/lockstep_command.hpp"
#include "launcher/processes/restarts.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/torchrun/launch_options.hpp"
#include "launcher/torchrun/launch_plan.hpp"
#include "launcher/torchrun/rank_outputs.hpp"
#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::launcher {

int distributed_launch_program(const std::vector<std::string>& args) {
    const comm::Environment environment = comm::process_environment();
    const auto plan = parse_launch(args, environment, host_resources(environment));
    if (!plan) return 0;
    const auto run = [&](int attempt) {
        const RankOutputs outputs(*plan, attempt);
        auto processes = launched_ranks(*plan, attempt, environment);
        outputs.connect(processes);
        return run_process_group(processes, plan->ending);
    };
    RestartPolicy policy;
    policy.max_restarts = plan->max_restarts;
    // The launchers do not talk to each other. The other launchers' ranks end when they lose their
    // peer, and a rank that restarts before that would find the old job's store.
    if (plan->nodes > 1) policy.pause_ms = 2'000;
    if (const std::string folder = model_folder_of_command(plan->command); !folder.empty())
        policy.newest_checkpoint = [folder] { return newest_checkpoint_name(folder); };
    const auto failed = [&](const GroupResult& result, const AfterFailure& after) {
        const int rank = plan->node_rank * plan->ranks_per_node + result.failed_rank;
        std::cerr << "distributed_launch: rank " << rank << " (local rank " << result.failed_rank
                  << " on " << comm::host_name() << ") " << failure_text(result, after, policy)
                  << std::endl;
    };
    return exit_code_of(run_with_restarts(run, policy, failed));
}

}  // namespace lockstep::launcher
