// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "runtime/comm/environment/variables.hpp"

namespace lockstep::comm {

// How a launcher tells a rank's place.
struct TaskManager {
    const char *name, *rank, *size, *local_rank;
};

// jsrun's task manager (LSF) and Flux; with Open MPI's libraries they set Open MPI's variables,
// too, which come first.
inline constexpr std::array task_managers{
    TaskManager{"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK"},
    TaskManager{"flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"}};

// The mpirun of MPICH, Intel MPI and MVAPICH sets other variables than Open MPI's, and so does the
// mpiexec of HPE's machines.
inline constexpr std::array other_mpi_sizes{"PMI_SIZE", "MV2_COMM_WORLD_SIZE"};

// SageMaker and Kubeflow's Trainer start a container on each host, and no rank.
inline constexpr const char* sagemaker_hosts = "SM_HOSTS";
inline constexpr const char* trainer_hosts = "PET_NNODES";

// Returns how many hosts they have started, and 1 if they have started none. The Trainer's are the
// most that its range allows.
int count_sagemaker_hosts(const Variables& variables);
int count_trainer_hosts(const Variables& variables);

// Throws a config error if a launcher whose variables Lockstep does not read has started this as
// one of several: each would train by itself. The message says what to type instead.
void refuse_other_launchers(const Variables& variables);

}  // namespace lockstep::comm
