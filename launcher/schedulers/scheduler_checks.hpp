// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/schedulers/scheduler.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace lockstep::launcher {

// Throws a config error that names an option of a checked job which the scheduler does not have, or
// a line of --directive that would be misread.
void check_for(Scheduler scheduler, const SlurmJob& spec,
               const std::vector<std::string>& directives);

}  // namespace lockstep::launcher
