// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/command_line/option_table.hpp"
#include "launcher/schedulers/scheduler.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace lockstep::launcher {

struct SubmitOptions {
    SlurmJob job;
    Scheduler scheduler = Scheduler::slurm;
    std::vector<std::string> directives;  // lines for another scheduler than Slurm
    std::string script_file;              // empty: NAME.sbatch, .pbs or .lsf in the current folder
    std::vector<std::string> warnings;    // an empty text says nothing
    bool dry_run = false;
    bool help = false, dump_config = false;
};

// Parses and checks the words after `submit`. The job's command is kept as it was typed.
SubmitOptions parse_submit(const std::vector<std::string>& args);

}  // namespace lockstep::launcher
