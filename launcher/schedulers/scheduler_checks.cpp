// SPDX-License-Identifier: Apache-2.0
#include "launcher/schedulers/scheduler_checks.hpp"

#include "launcher/schedulers/time_limit.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::config, what); }

void refuse_given(const std::string& option, bool given, const std::string& advice) {
    if (given) refuse(option + ": only Slurm has it; " + advice);
}

void check_of_slurm(const SlurmJob& spec) {
    const std::string other = "give --directive LINE, or leave it out";
    refuse_given("--qos", !spec.qos.empty(), other);
    refuse_given("--constraint", !spec.constraint.empty(), other);
    refuse_given("--sbatch", !spec.sbatch_lines.empty(), other);
    refuse_given("--mpi", !spec.mpi.empty(), "mpirun starts the ranks; leave it out");
    refuse_given("--requeue", spec.at_time_limit == AtTimeLimit::continue_later,
                 "leave it out, and submit the same command again: it continues");
}

void check_directive(const std::string& line) {
    const bool one_line = line.find_first_of("\r\n") == std::string::npos;
    if (!one_line || !line.starts_with("-"))
        refuse("--directive: '" + shown(line) + "' is no option of the scheduler on one line");
}

}  // namespace

void check_for(Scheduler scheduler, const SlurmJob& spec,
               const std::vector<std::string>& directives) {
    if (scheduler == Scheduler::slurm) {
        if (!directives.empty())
            refuse("--directive: it is for --scheduler pbs and lsf; give --sbatch OPTION");
        return;
    }
    check_of_slurm(spec);
    for (const std::string& line : directives) check_directive(line);
    if (!spec.time.empty() && spec.warning_s >= time_limit_s(spec.time))
        refuse("--time " + spec.time + ": the ranks are to be told " +
               std::to_string(spec.warning_s) +
               " s before it ends, which is before they start; give more time, or a shorter "
               "--signal USR1@SECONDS");
    if (scheduler == Scheduler::lsf) {
        if (!spec.memory.empty())
            refuse(
                "--mem: LSF counts memory for each host or each task, as the cluster says; give "
                "--directive '-R rusage[mem=SIZE]'");
        return;
    }
    if (spec.gpus_per_node.find(':') != std::string::npos)
        refuse("--gpus-per-node " + spec.gpus_per_node +
               ": PBS has no kinds of GPUs; give the number, and --directive LINE for the kind");
    if (spec.output != SlurmJob().output && spec.output.find('%') != std::string::npos)
        refuse("--output " + spec.output + ": PBS puts neither name nor number there; give a path");
}

}  // namespace lockstep::launcher
