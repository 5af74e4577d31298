// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/slurm/slurm_job.hpp"

namespace lockstep::launcher {

// Every generated script begins with these two lines. They distinguish it from scripts that people
// wrote.
extern const char* const sbatch_header;

// Returns the job script of a checked specification: the settings, then one srun that starts all
// ranks.
std::string sbatch_script(const SlurmJob& spec);

}  // namespace lockstep::launcher
