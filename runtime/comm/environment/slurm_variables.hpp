// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/environment/variables.hpp"

namespace lockstep::comm {

// Tells whether this process belongs to a step, as srun starts them. A batch script and salloc's
// shell do not.
bool in_slurm_step(const Variables& variables);
bool in_slurm_job_without_step(const Variables& variables);

// Tells whether this process was typed into a shell, or a terminal or notebook of Jupyter, that is
// a task of the step, so that it is not a task itself.
bool typed_into_task(const Variables& variables);

// Returns the number of tasks in this step.
int slurm_size(const Variables& variables);

// Throws kind config when the step's variables are incomplete or when this process is not itself a
// task.
RankInfo rank_info_from_slurm(const Variables& variables);

}  // namespace lockstep::comm
