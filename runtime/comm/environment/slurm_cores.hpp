// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "runtime/comm/environment/environment.hpp"

namespace lockstep::comm {

// The cores that Slurm gave to a task of a step, or to a job or step on this host.
struct SlurmCores {
    int count = 0;
    std::string owner;  // the same text for all processes that share them
};

// Returns what SLURM_CPUS_PER_TASK says of this process's own task, else what SLURM_CPUS_ON_NODE
// says. Nothing: Slurm did not start it, or does not tell.
std::optional<SlurmCores> slurm_cores(const Environment& environment);

}  // namespace lockstep::comm
