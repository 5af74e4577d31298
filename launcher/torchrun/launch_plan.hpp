// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/processes/process_group.hpp"
#include "runtime/comm/net/environment.hpp"
#include "runtime/comm/store/secret.hpp"

namespace lockstep::launcher {

// Where a stream of a rank goes besides, or instead of, where the launcher's own goes.
// nowhere: not even here.
enum class Sink { inherited, file, both, nowhere };

struct StreamSinks {
    Sink output = Sink::inherited, error = Sink::inherited;
};

// own_argument: --local-rank=N behind the program's words, as torch.distributed.launch had it.
enum class LocalRankBy { environment, own_argument };

// One launcher's part of a job: the ranks of this host. Launchers on other hosts have the same plan
// but for node_rank, and need not know each other: rank 0's store is where all ranks meet.
struct LaunchPlan {
    int nodes = 1;
    int node_rank = 0;
    int ranks_per_node = 1;
    std::string master_addr = "127.0.0.1";
    int master_port = 0;  // 0: one that is free at each start; on one host only
    int max_restarts = 0;
    std::string run_id = "none", role = "default";
    comm::Secret secret;  // empty on one host: a new one at each start
    int threads_per_rank = 1;
    std::vector<std::string> command;
    LocalRankBy local_rank_by = LocalRankBy::environment;
    std::string log_folder;                       // empty: no files
    std::vector<StreamSinks> sinks;               // by local rank
    std::string line_prefix = "[rank ${rank}] ";  // before each line that is shown and kept
    GroupOptions ending;
};

// The processes of one attempt: `base` with torchrun's whole environment added. A user's own
// OMP_NUM_THREADS stays.
std::vector<ProcessSpec> launched_ranks(const LaunchPlan& plan, int attempt,
                                        const comm::Environment& base);

}  // namespace lockstep::launcher
