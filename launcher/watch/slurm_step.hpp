// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace lockstep::launcher {

// Kills the processes of a Slurm step ("12.0"), including this one, by scancel. It returns when
// scancel has succeeded, when there is no scancel, or when `patience` is over. A scancel that fails
// is called again.
void kill_slurm_step(const std::string& step, std::chrono::milliseconds patience);

}  // namespace lockstep::launcher
