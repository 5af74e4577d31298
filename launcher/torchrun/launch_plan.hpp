// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/processes/process_group.hpp"
#include "runtime/comm/environment/environment.hpp"
#include "runtime/comm/secret/secret.hpp"

namespace lockstep::launcher {

// Tells where a rank's stream goes. `inherited` is the launcher's own stream, `nowhere` discards
// the text.
enum class Sink { inherited, file, both, nowhere };

struct StreamSinks {
    Sink output = Sink::inherited, error = Sink::inherited;
};

// own_argument passes --local-rank=N after the program's words, as torch.distributed.launch does.
enum class LocalRankBy { environment, own_argument };

// Describes the part of a job that one launcher runs: the ranks of this host. Launchers on other
// hosts have the same plan except for node_rank. They need not know each other because all ranks
// meet in rank 0's store.
struct LaunchPlan {
    int nodes = 1;
    int node_rank = 0;
    int ranks_per_node = 1;
    std::string master_addr = "127.0.0.1";
    int master_port = 0;  // 0: a free one at each start; only on one host
    int max_restarts = 0;
    std::string run_id = "none", role = "default";
    comm::Secret secret;  // empty on one host: a new one at each start
    int threads_per_rank = 1;
    std::vector<std::string> command;
    LocalRankBy local_rank_by = LocalRankBy::environment;
    std::string log_folder;                       // empty: no files
    std::vector<StreamSinks> sinks;               // index: local rank
    std::string line_prefix = "[rank ${rank}] ";  // before each line of Sink::both
    GroupOptions ending;
};

// Returns the processes of one attempt. Their environment is `base` without what an outer launcher
// told this one about its rank, with all of torchrun's variables. A user's own OMP_NUM_THREADS is
// kept.
std::vector<ProcessSpec> launched_ranks(const LaunchPlan& plan, int attempt,
                                        const comm::Environment& base);

}  // namespace lockstep::launcher
