// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/other_launchers.hpp"

#include <algorithm>
#include <string>

#include "runtime/comm/environment/slurm_variables.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::comm {

namespace {

void refuse_task_managers(const Variables& variables) {
    for (const TaskManager& one : task_managers) {
        if (!variables.has(one.rank) || variables.number(one.size).value_or(1) <= 1) continue;
        refuse_environment(std::string(one.name) + " started this (" + one.size +
                           " is set), whose variables are not read: start bash -c '... --rank $" +
                           one.rank + " --world-size $" + one.size + " --local-rank $" +
                           one.local_rank + " --master-addr HOST', HOST being that of rank 0");
    }
}

void refuse_other_mpi(const Variables& variables) {
    for (const char* name : other_mpi_sizes) {
        if (variables.number(name).value_or(1) <= 1 || in_slurm_step(variables)) continue;
        refuse_environment("another MPI's mpirun started this (" + std::string(name) +
                           " is set): use Open MPI's mpirun, srun, or "
                           "torchrun; one of " +
                           *variables.find(name) + " separate runs is not what was meant");
    }
}

void refuse_sagemaker(const Variables& variables) {
    const int hosts = count_sagemaker_hosts(variables);
    if (hosts <= 1) return;
    const std::string count = std::to_string(hosts);
    refuse_environment("SageMaker has started this on " + count +
                       " hosts (SM_HOSTS=" + shown(*variables.find(sagemaker_hosts)) +
                       "), and no rank: type distributed_launch --nnodes " + count +
                       " --node-rank K --master-addr FIRST --nproc-per-node $SM_NUM_GPUS before "
                       "it, K being the place of $SM_CURRENT_HOST in that list, from 0");
}

// Kubeflow's Trainer sets torchrun's options, which torchrun and distributed_launch read.
void refuse_torchrun_options(const Variables& variables) {
    const std::string hosts = variables.find(trainer_hosts).value_or("1");
    if (hosts == "1") return;
    refuse_environment("options of torchrun are in the environment (PET_NNODES=" + shown(hosts) +
                       "), and no RANK: type distributed_launch before the command");
}

}  // namespace

// SM_HOSTS is a list in JSON.
int count_sagemaker_hosts(const Variables& variables) {
    const std::string hosts = variables.find(sagemaker_hosts).value_or("");
    return static_cast<int>(std::count(hosts.begin(), hosts.end(), ',')) + 1;
}

int count_trainer_hosts(const Variables& variables) {
    const std::string range = variables.find(trainer_hosts).value_or("1");
    const Environment most{{trainer_hosts, range.substr(range.rfind(':') + 1)}};
    return Variables(most).number(trainer_hosts).value_or(1);
}

void refuse_other_launchers(const Variables& variables) {
    refuse_task_managers(variables);
    refuse_other_mpi(variables);
    if (in_slurm_step(variables)) return;
    refuse_sagemaker(variables);
    refuse_torchrun_options(variables);
}

}  // namespace lockstep::comm
