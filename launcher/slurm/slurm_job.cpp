// SPDX-License-Identifier: Apache-2.0
#include "launcher/slurm/slurm_job.hpp"

#include <algorithm>
#include <cctype>
#include <regex>

#include "launcher/slurm/sbatch_line.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& value,
                         const std::string& wanted) {
    throw Error(ErrorKind::config, option + ": '" + shown(value) + "' is not " + wanted);
}

// A setting is written on a #SBATCH line. A blank would end it, and a newline would begin shell
// code.
void check_word(const std::string& option, const std::string& value) {
    const bool plain = std::all_of(value.begin(), value.end(), [](unsigned char c) {
        return std::isgraph(c) && c != '"' && c != '\'' && c != '\\' && c != '#';
    });
    if (!plain) refuse(option, value, "one word without quotes, blanks, # and backslashes");
}

void check_pattern(const std::string& option, const std::string& value, const char* pattern,
                   const std::string& wanted) {
    // std::regex calls itself for each character, so a long text would use up the stack.
    constexpr std::size_t longest = 256;
    if (value.size() > longest || (!value.empty() && !std::regex_match(value, std::regex(pattern))))
        refuse(option, value, wanted);
}

void check_counts(const SlurmJob& spec) {
    const auto at_least = [](const std::string& option, int value, int smallest) {
        if (value < smallest) {
            refuse(option, std::to_string(value), std::to_string(smallest) + " or more");
        }
    };
    at_least("--nodes", spec.nodes, 1);
    at_least("--ntasks-per-node", spec.tasks_per_node, 1);
    at_least("--cpus-per-task", spec.cpus_per_task, 0);
    at_least("--signal USR1@", spec.warning_s, 0);
}

void check_words(const SlurmJob& spec) {
    check_word("--job-name", spec.name);
    check_word("--partition", spec.partition);
    check_word("--account", spec.account);
    check_word("--qos", spec.qos);
    check_word("--constraint", spec.constraint);
    check_word("--output", spec.output);
    check_word("--mpi", spec.mpi);
    check_pattern("--mem", spec.memory, "[0-9]+[KMGT]?", "a size such as 64G (K, M, G or T)");
    check_pattern("--gpus-per-node", spec.gpus_per_node, "([A-Za-z][A-Za-z0-9_.-]*:)?[1-9][0-9]*",
                  "a count such as 4, or a kind and a count such as a100:4");
    check_pattern("--time", spec.time,
                  "[0-9]+(:[0-9]{1,2}){0,2}|[0-9]+-[0-9]{1,2}(:[0-9]{1,2}){0,2}",
                  "a time such as 90 (minutes), 12:00:00 or 2-12:00:00");
}

}  // namespace

void check(const SlurmJob& spec) {
    check_counts(spec);
    check_words(spec);
    if (spec.name.empty()) refuse("--job-name", "", "a name");
    if (spec.at_time_limit == AtTimeLimit::continue_later && spec.warning_s == 0) {
        throw Error(ErrorKind::config,
                    "--requeue needs the warning before the time limit: give --signal USR1@120");
    }
    for (const std::string& line : spec.setup) {
        if (line.find('\n') != std::string::npos) refuse("--setup", line, "one line of shell");
    }
    for (const std::string& line : spec.sbatch_lines) (void)sbatch_line(line);
    (void)gpus_of_host(spec);
    if (spec.command.empty()) {
        throw Error(
            ErrorKind::config,
            "name what the job runs behind --: lockstep submit [options] -- distributed_train ...");
    }
}

}  // namespace lockstep::launcher
