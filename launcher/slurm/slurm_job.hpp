// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lockstep::launcher {

// continue_later: the warning of the time limit stops the job, which then queues itself again and
// continues from its checkpoint.
enum class AtTimeLimit { stop, continue_later };

// Describes a job for Slurm. An empty text or 0 leaves a setting to the cluster.
struct SlurmJob {
    std::string name = "lockstep";
    int nodes = 1;
    int tasks_per_node = 1;
    int cpus_per_task = 0;
    std::string gpus_per_node;  // "4" or "a100:4"
    std::string memory;         // memory of a node: "64G"
    std::string time;           // "2-12:00:00"
    std::string partition, account, qos, constraint;
    std::string output = "%x-%j.out";
    std::string mpi;      // srun --mpi=
    int warning_s = 120;  // USR1 comes this long before the time limit; 0: never
    AtTimeLimit at_time_limit = AtTimeLimit::stop;
    std::string model_folder;               // of a run that trains; empty: not known
    std::vector<std::string> sbatch_lines;  // options of sbatch that have no field here
    std::vector<std::string> setup;         // shell lines that run before the ranks start
    std::vector<std::string> command;       // command of each rank
};

// Throws a config error that names the option which sbatch would refuse or misread.
void check(const SlurmJob& spec);

}  // namespace lockstep::launcher
