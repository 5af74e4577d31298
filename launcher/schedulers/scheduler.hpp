// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::launcher {

// pbs: PBS Professional and OpenPBS, not Torque.
enum class Scheduler { slurm, pbs, lsf };

}  // namespace lockstep::launcher
