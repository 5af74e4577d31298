// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/slurm/slurm_job.hpp"

namespace lockstep::launcher {

// Returns a job script for PBS Professional and OpenPBS of a checked specification
// (scheduler_checks.hpp). Each of `directives` becomes a line behind #PBS. The lines are those of
// qsub(1B) and pbs_resources(7B) of OpenPBS.
std::string pbs_script(const SlurmJob& spec, const std::vector<std::string>& directives);

}  // namespace lockstep::launcher
