// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/other_launchers.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "runtime/comm/environment/slurm_variables.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::comm {

namespace {

// How a launcher tells a rank's place. What is null it does not tell.
struct OtherLauncher {
    const char *name, *rank, *size, *local_rank;
};

// jsrun's task manager (LSF) and Flux; with Open MPI's libraries they set Open MPI's variables,
// too, which come first.
constexpr std::array launchers{
    OtherLauncher{"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK"},
    OtherLauncher{"flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"}};

void refuse_task_managers(const Variables& variables) {
    for (const OtherLauncher& one : launchers) {
        if (!variables.has(one.rank) || variables.number(one.size).value_or(1) <= 1) continue;
        refuse_environment(std::string(one.name) + " started this (" + one.size +
                           " is set), whose variables are not read: start bash -c '... --rank $" +
                           one.rank + " --world-size $" + one.size + " --local-rank $" +
                           one.local_rank + " --master-addr HOST', HOST being that of rank 0");
    }
}

// The mpirun of MPICH, Intel MPI and MVAPICH sets other variables than Open MPI's, and so does the
// mpiexec of HPE's machines.
void refuse_other_mpi(const Variables& variables) {
    for (const char* name : {"PMI_SIZE", "MV2_COMM_WORLD_SIZE"}) {
        if (variables.number(name).value_or(1) <= 1 || in_slurm_step(variables)) continue;
        refuse_environment("another MPI's mpirun started this (" + std::string(name) +
                           " is set): use Open MPI's mpirun, srun, or "
                           "torchrun; one of " +
                           *variables.find(name) + " separate runs is not what was meant");
    }
}

// A container of SageMaker is a host, and SM_HOSTS a list in JSON of all of them.
void refuse_sagemaker(const Variables& variables) {
    const std::string hosts = variables.find("SM_HOSTS").value_or("");
    const auto others = std::count(hosts.begin(), hosts.end(), ',');
    if (others < 1) return;
    refuse_environment("SageMaker has started this on " + std::to_string(others + 1) +
                       " hosts (SM_HOSTS=" + shown(hosts) +
                       "), and no rank: type distributed_launch --nnodes " +
                       std::to_string(others + 1) +
                       " --node-rank K --master-addr FIRST --nproc-per-node $SM_NUM_GPUS before "
                       "it, K being the place of $SM_CURRENT_HOST in that list, from 0");
}

// Kubeflow's Trainer sets torchrun's options, which torchrun and distributed_launch read.
void refuse_torchrun_options(const Variables& variables) {
    const std::string hosts = variables.find("PET_NNODES").value_or("1");
    if (hosts == "1") return;
    refuse_environment("options of torchrun are in the environment (PET_NNODES=" + shown(hosts) +
                       "), and no RANK: type distributed_launch before the command");
}

}  // namespace

void refuse_other_launchers(const Variables& variables) {
    refuse_task_managers(variables);
    refuse_other_mpi(variables);
    if (in_slurm_step(variables)) return;
    refuse_sagemaker(variables);
    refuse_torchrun_options(variables);
}

}  // namespace lockstep::comm
