// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "runtime/comm/environment/environment.hpp"

namespace lockstep::comm {

// Tells what standard input is. srun and mpirun give their ranks none that is a terminal.
enum class StandardInput { terminal, other };
StandardInput own_standard_input();

// Tells whether a launcher has started ranks, or one process on each host.
enum class StartedKind { ranks, hosts };

// Counts what a launcher has started together with this process. `variable` says so.
struct StartedRanks {
    int count = 0;
    std::string variable;
    StartedKind kind = StartedKind::ranks;
};

// Returns the ranks if a launcher has started several, and this process is one of them. The result
// is empty in a shell that is a task of a step (srun --pty, a terminal or notebook of Jupyter), for
// variables that are left over from an mpirun that has ended, and for variables that cannot be
// read. It may connect to mpirun's daemon.
std::optional<StartedRanks> started_ranks(const Environment& environment, StandardInput input);

// Does the same without looking at torchrun's variables and options.
std::optional<StartedRanks> started_tasks(const Environment& environment, StandardInput input);

// Tells whether the task's variables stay.
enum class SlurmTask { stays, is_removed };

// Returns the environment without what an outer launcher tells its ranks: torchrun's variables and
// options, MPI's and PMIx's and, if asked for, those of a Slurm task. Variables of a Slurm job and
// the user's own settings stay.
Environment without_outer_ranks(const Environment& environment, SlurmTask task);

}  // namespace lockstep::comm
