// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Kills the processes of a Slurm step ("12.0"), including this one, by scancel. It returns when
// there is no scancel or it does not answer.
void kill_slurm_step(const std::string& step);

}  // namespace lockstep::launcher
