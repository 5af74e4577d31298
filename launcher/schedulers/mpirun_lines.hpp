// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/slurm/slurm_job.hpp"

namespace lockstep::launcher {

// Returns the end of a job script: Open MPI's mpirun starts one rank for each task on the hosts
// that `hosts` names, an option of mpirun. Where the job has a time limit, and a warning before it,
// the ranks get USR1 then.
std::string mpirun_lines(const SlurmJob& spec, const std::string& hosts);

}  // namespace lockstep::launcher
