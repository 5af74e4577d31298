// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm/place/place_variables.hpp"
#include "runtime/comm/place/rank_info.hpp"

namespace lockstep::comm {

// A task of a step, as srun starts them; neither a batch script nor salloc's shell is one.
bool in_slurm_step(const Variables& variables);
bool in_slurm_job_without_step(const Variables& variables);

// Tasks of the step that this is one of.
int slurm_size(const Variables& variables);

// Throws a config error where the step's variables are incomplete or this is no task itself.
RankInfo place_from_slurm(const Variables& variables);

}  // namespace lockstep::comm
