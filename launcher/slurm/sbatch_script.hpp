// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/slurm/slurm_job.hpp"

namespace lockstep::launcher {

// The first two lines of every script, by which one that a person wrote is told apart.
extern const char* const sbatch_header;

// The job script of a checked specification: settings, then one srun that starts all ranks.
std::string sbatch_script(const SlurmJob& spec);

}  // namespace lockstep::launcher
