// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/slurm/slurm_job.hpp"

namespace lockstep::launcher {

// Returns the lines of a job script that come before its ranks: their secret, the times in their
// log, and the lines of --setup.
std::string ranks_environment(const SlurmJob& spec);

}  // namespace lockstep::launcher
