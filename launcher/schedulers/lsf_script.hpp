// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/slurm/slurm_job.hpp"

namespace lockstep::launcher {

// Returns a job script for LSF of a checked specification (scheduler_checks.hpp). Each of
// `directives` becomes a line behind #BSUB. The lines are those of bsub in IBM Spectrum LSF 10.1.
std::string lsf_script(const SlurmJob& spec, const std::vector<std::string>& directives);

}  // namespace lockstep::launcher
