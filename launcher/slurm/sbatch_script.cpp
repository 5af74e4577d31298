// SPDX-License-Identifier: Apache-2.0
#include "launcher/slurm/sbatch_script.hpp"

#include "launcher/slurm/ranks_environment.hpp"
#include "launcher/slurm/sbatch_line.hpp"
#include "launcher/text/shell_word.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher {

namespace {

void setting(std::string& script, const std::string& name, const std::string& value) {
    if (!value.empty()) script += "#SBATCH --" + name + "=" + value + "\n";
}

void setting(std::string& script, const std::string& name, int value) {
    if (value > 0) setting(script, name, std::to_string(value));
}

bool requeues(const SlurmJob& spec) { return spec.at_time_limit == AtTimeLimit::continue_later; }

void add_settings(std::string& script, const SlurmJob& spec) {
    script += "# " + counted(spec.nodes, "node", "nodes") + " with " +
              counted(spec.tasks_per_node, "task", "tasks") + " each.\n";
    setting(script, "job-name", spec.name);
    setting(script, "partition", spec.partition);
    setting(script, "account", spec.account);
    setting(script, "qos", spec.qos);
    setting(script, "constraint", spec.constraint);
    setting(script, "nodes", spec.nodes);
    setting(script, "ntasks-per-node", spec.tasks_per_node);
    setting(script, "cpus-per-task", spec.cpus_per_task);
    setting(script, "gpus-per-node", spec.gpus_per_node);
    setting(script, "mem", spec.memory);
    setting(script, "time", spec.time);
    setting(script, "output", spec.output);
    for (const std::string& line : spec.sbatch_lines)
        script += "#SBATCH " + sbatch_line(line) + "\n";
}

void add_end(std::string& script, const SlurmJob& spec) {
    const std::string seconds = std::to_string(spec.warning_s);
    if (requeues(spec)) {
        script += "\n# " + seconds +
                  " s before the time limit this script is told, stops the ranks at a checkpoint "
                  "and\n# queues the job once more; output goes on in the same file.\n"
                  "#SBATCH --signal=B:USR1@" +
                  seconds + "\n#SBATCH --requeue\n#SBATCH --open-mode=append\n";
        return;
    }
    if (spec.warning_s > 0) {
        script += "\n# " + seconds +
                  " s before the time limit every rank is told, and stops at a checkpoint.\n"
                  "#SBATCH --signal=USR1@" +
                  seconds + "\n";
    }
    script += "#SBATCH --no-requeue\n";
}

// A trapped signal ends bash's wait early, so the script waits again after each signal. Slurm
// itself sends TERM to the ranks; the script only has to outlive them.
constexpr const char* trap_lines = R"(
ranks=
requeue=no
cancelled=no
again=yes
trap 'requeue=yes again=yes; [ -z "$ranks" ] || kill -USR1 "$ranks"' USR1
trap 'cancelled=yes again=yes' TERM
)";

constexpr const char* wait_lines = R"( &
ranks=$!
while [ "$again" = yes ]; do
    again=no
    wait "$ranks"
    code=$?
done
# Slurm tells the ranks of a preempted job to end, and counts the job as complete once they did.
preempted() { scontrol show job "$SLURM_JOB_ID" | grep -q 'PreemptTime=[0-9]'; }
# Ranks that were still waiting for each other end by the signal, TERM.
if { [ "$code" -eq 0 ] || [ "$code" -eq 143 ]; } && [ "$requeue" = no ] && preempted; then
    requeue=yes code=0
fi
)";

constexpr const char* lost_lines =
    R"sh(# The ranks notice a lost host long before Slurm does.
lost() { grep -qsE '"cause": "(lost|silent)"' "$model/failure.json"; }
if [ "$code" -ne 0 ] && [ "$cancelled" = no ] && lost; then
    echo "A host was lost: the job is queued again."
    requeue=yes code=0
fi
)sh";

constexpr const char* requeue_lines = R"(if [ "$requeue" = yes ] && [ "$code" -eq 0 ]; then
)";

constexpr const char* end_lines = R"(    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
)";

constexpr const char* newest_lines = R"sh(
newest() { ls "$model/checkpoints" 2>&1 | grep -x 'step-[0-9]*' | sort -V | tail -n 1; }
before=$(newest)
rm -f "$model/failure.json"
)sh";

constexpr const char* progress_lines =
    R"sh(    # A piece that saves nothing would be repeated for ever.
    idle=$model/idle-piece-of-job-$SLURM_JOB_ID
    if [ "$(newest)" != "$before" ]; then
        rm -f "$idle"
    elif [ -e "$idle" ]; then
        rm -f "$idle"
        echo "Two pieces in a row saved no checkpoint after ${before:-the start}, so the job is not" \
            "queued again: give it a longer --time, or mend what ended them." >&2
        exit 1
    else
        mkdir -p "$model" && touch "$idle"
    fi
)sh";

std::string srun_line(const SlurmJob& spec) {
    std::string line = "srun --kill-on-bad-exit=1";
    if (!spec.mpi.empty()) line += " --mpi=" + shell_word(spec.mpi);
    // Since Slurm 22.05 srun does not inherit this setting from sbatch.
    if (spec.cpus_per_task > 0) line += " --cpus-per-task=" + std::to_string(spec.cpus_per_task);
    line += " \\\n   ";
    for (const std::string& word : spec.command) line += " " + shell_word(word);
    return line;
}

}  // namespace

const char* const sbatch_header = "#!/bin/bash\n# Written by `lockstep submit`.";

std::string sbatch_script(const SlurmJob& spec) {
    std::string script = std::string(sbatch_header) + "\n";
    add_settings(script, spec);
    add_end(script, spec);
    script += ranks_environment(spec);
    const char* ranks = "\n# One rank for each task; a rank that fails ends them all.\n";
    if (!requeues(spec)) return script + ranks + "exec " + srun_line(spec) + "\n";
    const bool looks_for_checkpoints = !spec.model_folder.empty();
    script += trap_lines;
    if (looks_for_checkpoints) script += "\nmodel=" + shell_word(spec.model_folder) + newest_lines;
    script += ranks + srun_line(spec) + wait_lines;
    if (looks_for_checkpoints) script += lost_lines;
    script += requeue_lines;
    if (looks_for_checkpoints) script += progress_lines;
    return script + end_lines;
}

}  // namespace lockstep::launcher
