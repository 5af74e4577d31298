// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lockstep::launcher {

// continue_later: stopped by the time limit's warning, the job queues itself once more and goes on
// from its checkpoint.
enum class AtTimeLimit { stop, continue_later };

// A job for Slurm. Empty texts and zeros leave a setting to the cluster.
struct SlurmJob {
    std::string name = "lockstep";
    int nodes = 1;
    int tasks_per_node = 1;
    int cpus_per_task = 0;
    std::string gpus_per_node;  // "4" or "a100:4"
    std::string memory;         // of a node: "64G"
    std::string time;           // "2-12:00:00"
    std::string partition, account, qos, constraint;
    std::string output = "%x-%j.out";
    std::string mpi;      // srun --mpi=
    int warning_s = 120;  // USR1 so long before the time limit; 0: none
    AtTimeLimit at_time_limit = AtTimeLimit::stop;
    std::vector<std::string> setup;    // lines of shell before the ranks start
    std::vector<std::string> command;  // of each rank
};

// Throws a config error that names the option which sbatch would refuse or misread.
void check(const SlurmJob& spec);

}  // namespace lockstep::launcher
