// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Kills what runs in a Slurm step ("12.0"), this process included, by scancel. Returns where there
// is none, or it does not answer.
void kill_slurm_step(const std::string& step);

}  // namespace lockstep::launcher
