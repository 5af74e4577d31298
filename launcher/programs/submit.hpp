// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/options/option_table.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace lockstep::launcher {

struct SubmitOptions {
    SlurmJob job;
    std::string script_file;  // empty: NAME.sbatch in this folder
    bool dry_run = false;
    bool help = false, dump_config = false;
};

// What the words behind `submit` ask for, checked; the job's command stands as it was typed.
SubmitOptions parse_submit(const std::vector<std::string>& args);

}  // namespace lockstep::launcher
