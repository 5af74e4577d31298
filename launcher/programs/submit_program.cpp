// SPDX-License-Identifier: Apache-2.0
#include "launcher/programs/submit_program.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "launcher/command_line/command_line.hpp"
#include "launcher/command_line/output_file.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/processes/lockstep_command.hpp"
#include "launcher/processes/process_group.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/programs/stop_time.hpp"
#include "launcher/rank/given_secret.hpp"
#include "launcher/schedulers/lsf_script.hpp"
#include "launcher/schedulers/pbs_script.hpp"
#include "launcher/schedulers/scheduler_checks.hpp"
#include "launcher/slurm/sbatch_line.hpp"
#include "launcher/slurm/sbatch_script.hpp"
#include "runtime/comm/environment/environment.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/output_claim.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* usage =
    "lockstep submit [options] -- distributed_train --data DIR -mf DIR [options]\n"
    "Writes a job script that starts the command once for each task, and submits it.\n";

// Holds the command's own options.
struct Checked {
    Task task;
    RunConfig config;
};

// These values need parsing after they are stored.
struct Texts {
    std::string signal;
    bool requeue = false;
};

std::vector<OptionTable> submit_tables(SubmitOptions& options, Texts& texts) {
    SlurmJob& job = options.job;
    OptionTable size("Size");
    constexpr std::uint64_t max_nodes = 1 << 16, max_tasks = 1 << 12;
    size.integer("nodes,N", job.nodes, "hosts", 1, max_nodes);
    size.integer("ntasks-per-node,tasks-per-node", job.tasks_per_node,
                 "ranks on each host (default: one for each GPU that is asked for)", 1, max_tasks);
    size.integer("cpus-per-task,c", job.cpus_per_task, "cores of a rank (0: the cluster's default)",
                 0);
    size.text("gpus-per-node", job.gpus_per_node, "[KIND:]N", "GPUs of each host");
    size.text("mem", job.memory, "SIZE", "memory of each host, as 64G");
    size.text("time,t", job.time, "TIME", "limit, as 12:00:00 or 2-12:00:00");
    OptionTable queue("Queue");
    queue.choice<Scheduler>(
        "scheduler", options.scheduler,
        {{"slurm", Scheduler::slurm}, {"pbs", Scheduler::pbs}, {"lsf", Scheduler::lsf}},
        "whose script is written; pbs is PBS Professional and OpenPBS");
    queue.text("job-name,J", job.name, "NAME", "of the job");
    queue.text("partition,p", job.partition, "NAME", "queue");
    queue.text("account,A", job.account, "NAME", "who pays");
    queue.text("qos,q", job.qos, "NAME", "quality of service");
    queue.text("constraint,C", job.constraint, "LIST", "features that the hosts must have");
    queue.text("output,o", job.output, "FILE", "of all ranks; %x is the name, %j the number");
    OptionTable run("Run");
    queue.lines("sbatch", job.sbatch_lines, "OPTION",
                "another option of sbatch, as --gres=gpu:4; may be repeated");
    queue.lines("directive", options.directives, "LINE",
                "another option of qsub or bsub, as '-m e'; may be repeated");
    run.text("signal", texts.signal, "USR1@SECONDS|off",
             "so long before the limit the ranks stop at a checkpoint (default: USR1@120, and off "
             "for programs that may not heed it)");
    run.flag("requeue", texts.requeue, "stopped so, the job queues itself once more and continues");
    run.text("mpi", job.mpi, "KIND", "srun's --mpi, as pmix or none (default: the cluster's)");
    run.texts("setup", job.setup, "LINE...",
              "lines of shell before the ranks start, as module load; may be repeated");
    run.text("script", options.script_file, "FILE",
             "where to write (default: NAME.sbatch, .pbs or .lsf)");
    run.flag("dry-run", options.dry_run, "print the script, and neither write nor submit it");
    return {size, queue, run};
}

// Returns 0 for programs that do not handle USR1, because the signal would end them.
int usual_warning_s(const std::vector<std::string>& command) {
    const std::string program = lockstep_program(command);
    return program.empty() || program == "distributed_launch" ? 0 : SlurmJob().warning_s;
}

int seconds_of_warning(const std::string& signal) {
    if (signal == "off") return 0;
    const std::string before = "USR1@";
    if (!signal.starts_with(before)) {
        OptionTable::reject("signal", signal, "USR1@SECONDS or off (the ranks heed USR1)");
    }
    constexpr int most = 65535;  // the maximum of sbatch
    return static_cast<int>(parse_integer("signal", signal.substr(before.size()), 1, most));
}

// The data may be on the hosts of the job alone.
std::string warning_of_absent_data(const RunConfig& config) {
    for (const std::string& folder : config.data)
        if (!path_exists(folder))
            return "warning: --data " + shown(folder) +
                   ": is not there on this host; the hosts of the job need it";
    return "";
}

// Finds errors that a rank would report only when the job starts, hours later. Returns the options
// of a run.
std::optional<Checked> check_command(const SlurmJob& job) {
    require_ranks(job.command, job.nodes * job.tasks_per_node);
    const std::string program = lockstep_program(job.command);
    const bool trains = program == "distributed_train" || program == "train";
    if (!trains && program != "distributed_eval" && program != "eval") return std::nullopt;
    const bool by_name = std::filesystem::path(job.command.front()).filename() != "lockstep";
    const std::vector<std::string> args(job.command.begin() + (by_name ? 1 : 2), job.command.end());
    const Ranks ranks = program.starts_with("distributed") ? Ranks::of_job : Ranks::one;
    const Task task = trains ? Task::train : Task::evaluate;
    auto config = parse_run(task, program + " [options]\n", args, ranks);
    if (!config) return std::nullopt;
    if (config->world_size > 0 && config->world_size != job.nodes * job.tasks_per_node)
        throw Error(ErrorKind::config, "--distributed-world-size " +
                                           std::to_string(config->world_size) + ": the job has " +
                                           std::to_string(job.nodes * job.tasks_per_node) +
                                           " ranks, --nodes times --ntasks-per-node; leave it out");
    (void)given_secret(*config);  // which the script's ranks will take
    return Checked{task, std::move(*config)};
}

// These programs are one rank each, with a GPU of its own.
bool is_rank(const std::string& program) {
    return program.starts_with("distributed_") && program != "distributed_launch";
}

// Refuses ranks that would find no GPU of their own, and returns a warning of GPUs without a rank.
std::string compare_with_gpus(const SlurmJob& job, int gpus, const RunConfig& config) {
    if (config.device == DeviceChoice::cpu) return "";
    const std::string both = std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs") +
                             " of each host for " + std::to_string(job.tasks_per_node) +
                             (job.tasks_per_node == 1 ? " rank" : " ranks");
    if (job.tasks_per_node > gpus && !config.gpu.allow_shared)
        throw Error(ErrorKind::config, "--ntasks-per-node " + std::to_string(job.tasks_per_node) +
                                           ": there are " + both + ": give --ntasks-per-node " +
                                           std::to_string(gpus) +
                                           ", or --allow-shared-gpu or --device cpu behind --");
    if (job.tasks_per_node >= gpus) return "";
    return "warning: there are " + both + ", and the others are idle: " +
           (is_rank(lockstep_program(job.command)) ? "leave --ntasks-per-node out"
                                                   : "start distributed_train");
}

// Elements of an array that run one after the other continue each other's training.
std::string warning_of_array(const SlurmJob& job) {
    for (const std::string& line : job.sbatch_lines) {
        const bool array = line.starts_with("--array") || line.starts_with("-a");
        if (array && !line.ends_with("%1"))
            return "warning: --sbatch " + shown(line) +
                   ": its elements would run in one -mf at the same time; write %1 behind the "
                   "numbers for one after the other";
    }
    return "";
}

// A script that a person wrote is not replaced.
void write_script(const std::string& path, const std::string& script) {
    const char* cannot = "the job script cannot be written; give --script FILE";
    const std::string old = path_exists(path) ? read_file(path, cannot) : "";
    if (!old.empty() && !old.starts_with(sbatch_header)) {
        throw Error(ErrorKind::config, "--script: " + path +
                                           " exists and was not written by submit; name another "
                                           "file, or move it away");
    }
    try {
        train::write_atomically(path, script);
    } catch (const Error& failure) {
        throw Error(failure.kind(), std::string("--script: ") + failure.what());
    }
}

bool on_path(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::string folders = path == nullptr ? "" : path;
    for (std::size_t at = 0; at <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', at), folders.size());
        std::error_code closed;  // a folder without permission holds nothing for this user
        if (std::filesystem::exists(folders.substr(at, end - at) + "/" + program, closed))
            return true;
        at = end + 1;
    }
    return false;
}

// How a scheduler names its scripts and takes them.
struct Submission {
    std::string ending;
    std::string program;
    std::vector<std::string> command;  // the script's path stands behind it
};

Submission submission_to(Scheduler scheduler) {
    switch (scheduler) {
        case Scheduler::slurm:
            return {".sbatch", "sbatch", {"sbatch"}};
        case Scheduler::pbs:
            return {".pbs", "qsub", {"qsub"}};
        case Scheduler::lsf:
            break;
    }
    // bsub reads the lines behind #BSUB only from its standard input.
    return {".lsf", "bsub", {"bash", "-c", "exec bsub < \"$0\""}};
}

std::string script_of(const SubmitOptions& options) {
    switch (options.scheduler) {
        case Scheduler::slurm:
            return sbatch_script(options.job);
        case Scheduler::pbs:
            return pbs_script(options.job, options.directives);
        case Scheduler::lsf:
            break;
    }
    return lsf_script(options.job, options.directives);
}

int submit(const Submission& to, const std::string& script_file) {
    if (!on_path(to.program)) {
        throw Error(ErrorKind::launch, to.program + " is not on PATH: " + script_file +
                                           " is written and stays; submit it on a host of the "
                                           "cluster");
    }
    std::vector<std::string> words = to.command;
    words.push_back(script_file);
    const GroupResult result =
        run_process_group({{words, comm::process_environment()}}, GroupOptions());
    if (result.failed_rank < 0) return 0;
    throw Error(ErrorKind::launch, to.program + " refused " + script_file + " (status " +
                                       std::to_string(result.status) +
                                       ", its reason is above); the script stays");
}

// Without the separator the program's words are taken for submit's own.
CommandLine parse_words(const std::vector<std::string>& args,
                        const std::vector<OptionTable>& tables) {
    try {
        return parse_command_line(args, tables);
    } catch (const Error& error) {
        std::string what = error.what();
        if (what.ends_with("no such option; --help lists all"))
            what += "; one of sbatch is passed on by --sbatch, as --sbatch --gres=gpu:4";
        if (std::ranges::find(args, "--") != args.end()) throw Error(error.kind(), what);
        throw Error(error.kind(),
                    what + std::string("; what the job runs stands behind --: lockstep "
                                       "submit [options] -- distributed_train ..."));
    }
}

}  // namespace

SubmitOptions parse_submit(const std::vector<std::string>& args) {
    SubmitOptions options;
    Texts texts;
    const CommandLine line = parse_words(args, submit_tables(options, texts));
    options.help = line.help;
    options.dump_config = line.dump_config;
    if (line.help || line.dump_config) return options;
    if (texts.requeue) options.job.at_time_limit = AtTimeLimit::continue_later;
    options.job.command = line.rest;
    options.job.warning_s =
        texts.signal.empty() ? usual_warning_s(line.rest) : seconds_of_warning(texts.signal);
    check(options.job);
    check_for(options.scheduler, options.job, options.directives);
    const auto gpus = gpus_of_host(options.job);
    if (gpus && !line.given.contains("ntasks-per-node") && is_rank(lockstep_program(line.rest)))
        options.job.tasks_per_node = *gpus;
    const auto checked = check_command(options.job);
    if (!checked) return options;
    const RunConfig& run_config = checked->config;
    options.warnings = {warning_of_absent_data(run_config)};
    if (gpus) options.warnings.push_back(compare_with_gpus(options.job, *gpus, run_config));
    options.warnings.push_back(warning_of_array(options.job));
    if (checked->task != Task::train) return options;
    options.job.model_folder = run_config.model_file;
    options.warnings.push_back(
        warning_of_slow_stop(bytes_saved_at_stop(run_config), options.job.warning_s));
    if (texts.requeue && !train::saves_on_the_way(run_config.train))
        options.warnings.push_back(restarts_lose_work);
    return options;
}

int submit_program(const std::vector<std::string>& args) {
    SubmitOptions options = parse_submit(args);
    SubmitOptions shown;
    Texts texts;
    if (options.help) std::cout << help_text(usage, submit_tables(shown, texts));
    if (options.dump_config) std::cout << dump_config(args, submit_tables(shown, texts));
    if (options.help || options.dump_config) return 0;
    for (const std::string& warning : options.warnings)
        if (!warning.empty()) std::cerr << warning << std::endl;
    options.job.command = with_own_binary(options.job.command);
    const std::string script = script_of(options);
    if (options.dry_run) {
        std::cout << script;
        return 0;
    }
    const Submission to = submission_to(options.scheduler);
    if (options.script_file.empty()) options.script_file = options.job.name + to.ending;
    require_place("--script", options.script_file);
    const OutputClaim claim("--script", options.script_file);  // until the scheduler has read it
    write_script(options.script_file, script);
    return submit(to, options.script_file);
}

}  // namespace lockstep::launcher
