// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "launcher/slurm/slurm_job.hpp"

namespace lockstep::launcher {

// Returns a line of --sbatch as it stands behind #SBATCH: a value with blanks gets quotes. Throws a
// config error for a text that is no option of sbatch, would end the line, or names an option that
// submit has itself.
std::string sbatch_line(const std::string& text);

// Returns the number of GPUs that the job asks for on each host: by --gpus-per-node, or by --gres
// or
// --gpus in a line of --sbatch. The result is empty if it asks for none, or for a number that does
// not follow from these. Throws a config error if it asks in two ways.
std::optional<int> gpus_of_host(const SlurmJob& spec);

}  // namespace lockstep::launcher
