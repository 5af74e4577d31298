// SPDX-License-Identifier: Apache-2.0
#include "launcher/schedulers/mpirun_lines.hpp"

#include "launcher/schedulers/time_limit.hpp"
#include "launcher/text/shell_word.hpp"

namespace lockstep::launcher {

namespace {

// Neither scheduler warns every rank, so the script does, and mpirun passes the signal on. SECONDS
// is the time that the script has run for.
std::string warning_lines(const SlurmJob& spec) {
    const std::string seconds = std::to_string(time_limit_s(spec.time) - spec.warning_s);
    return "# " + std::to_string(spec.warning_s) +
           " s before the time limit every rank is told, and stops at a checkpoint.\n"
           "exec timeout --foreground --preserve-status --signal=USR1 $((" +
           seconds + " - SECONDS)) \\\n    ";
}

}  // namespace

std::string mpirun_lines(const SlurmJob& spec, const std::string& hosts) {
    std::string lines = "\n# One rank for each task; a rank that fails ends them all.\n";
    lines += spec.warning_s > 0 && !spec.time.empty() ? warning_lines(spec) : "exec ";
    // Open MPI would bind a rank to one core; unbound ones of a host share its cores evenly.
    lines += "mpirun -np " + std::to_string(spec.nodes * spec.tasks_per_node) + " " + hosts +
             " --bind-to none -x LOCKSTEP_SECRET -x LOCKSTEP_LOG_TIMES \\\n   ";
    for (const std::string& word : spec.command) lines += " " + shell_word(word);
    return lines + "\n";
}

}  // namespace lockstep::launcher
