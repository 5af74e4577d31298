// SPDX-License-Identifier: Apache-2.0
#include "launcher/torchrun/launch_options.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <set>

#include "launcher/command_line/command_line.hpp"
#include "launcher/processes/lockstep_command.hpp"
#include "launcher/rank/threads_per_rank.hpp"
#include "launcher/torchrun/launch_endpoint.hpp"
#include "launcher/torchrun/launch_hosts.hpp"
#include "launcher/torchrun/launch_variables.hpp"
#include "launcher/torchrun/stream_sinks.hpp"
#include "launcher/torchrun/unsupported_options.hpp"
#include "runtime/comm/environment/address_text.hpp"
#include "runtime/comm/environment/started_ranks.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* usage =
    "distributed_launch [options] [--] PROGRAM [arguments]\n"
    "Starts PROGRAM as several ranks on this host, one launcher on each host, as torchrun does.\n"
    "PROGRAM is any program, or a Python script (*.py).\n";

// Holds the options as they were typed.
struct Typed {
    LaunchHosts hosts;
    std::string ranks_per_node = "1", backend = "static", secret_file;
    std::string redirects = "0", tee = "0";
    std::string run_id = "none", role = "default", log_folder, shown_ranks, start_method = "spawn";
    std::string line_prefix = LaunchPlan().line_prefix;
    int max_restarts = 0;
    double monitor_s = 0.1, shutdown_s = 1e-3 * GroupOptions().grace_ms;
    bool module = false, no_python = false, run_path = false, use_env = true;
};

OptionTable ranks_table(Typed& typed) {
    OptionTable ranks("Ranks");
    ranks.text("nproc-per-node", typed.ranks_per_node, "N|auto|cpu|gpu",
               "ranks on this host; the same on every host");
    ranks.text("nnodes", typed.hosts.nodes, "N", "hosts");
    ranks.integer("node-rank", typed.hosts.node_rank,
                  "this host's number, from 0 (-1: as Slurm says)", -1);
    ranks.text("master-addr", typed.hosts.master_addr, "HOST", "host 0");
    ranks.integer("master-port", typed.hosts.master_port,
                  "where rank 0 listens (-1: on one host one that is free, else 29500)", -1);
    ranks.flag("standalone", typed.hosts.standalone, "one host, whatever the environment says");
    ranks.text("secret-file", typed.secret_file, "FILE",
               "what Lockstep's ranks on several hosts know each other by (or LOCKSTEP_SECRET)");
    ranks.integer("max-restarts", typed.max_restarts,
                  "how often all ranks start again when one has failed", 0);
    ranks.number("shutdown-timeout", typed.shutdown_s,
                 "seconds from TERM to KILL for the ranks that are left when one has failed");
    return ranks;
}

OptionTable output_table(Typed& typed) {
    OptionTable output("Output");
    output.text("log-dir", typed.log_folder, "DIR", "DIR/attempt_A/rank_R/{stdout,stderr}.log");
    output.text("redirects,r", typed.redirects, "0-3|RANK:0-3,...",
                "to the files only: 0 nothing, 1 stdout, 2 stderr, 3 both; also by local rank");
    output.text("tee,t", typed.tee, "0-3|RANK:0-3,...",
                "to the files and here, with the rank before each line (with --log-dir: 3)");
    output.text("log-line-prefix-template", typed.line_prefix, "TEXT",
                "before each line of --tee; ${rank}, ${local_rank}, ${role_name}, ${hostname}");
    output.text("local-ranks-filter", typed.shown_ranks, "RANK,...",
                "only these local ranks are shown here; files keep all");
    return output;
}

OptionTable torchrun_table(Typed& typed) {
    OptionTable torchrun("Other names of torchrun");
    torchrun.text("rdzv-endpoint", typed.hosts.endpoint, "HOST[:PORT]",
                  "--master-addr, --master-port");
    torchrun.choice<std::string>("rdzv-backend", typed.backend,
                                 {{"static", "static"}, {"c10d", "c10d"}},
                                 "both mean: the ranks meet at rank 0");
    torchrun.text("rdzv-id", typed.run_id, "ID", "TORCHELASTIC_RUN_ID of the ranks");
    torchrun.text("rdzv-conf", typed.hosts.rendezvous, "rank=K", "--node-rank");
    torchrun.number("monitor-interval", typed.monitor_s,
                    "seconds within which a rank's end is to be noticed; it is at once");
    torchrun.choice<std::string>("start-method", typed.start_method, {{"spawn", "spawn"}},
                                 "ranks are programs of their own, which cannot be forked");
    torchrun.text("role", typed.role, "NAME", "ROLE_NAME of the ranks");
    return torchrun;
}

std::vector<OptionTable> launch_tables(Typed& typed) {
    OptionTable program("Program");
    program.flag("module,m", typed.module, "PROGRAM is a Python module");
    program.flag("no-python", typed.no_python,
                 "start PROGRAM itself, even if its name ends in .py");
    program.flag("run-path", typed.run_path, "PROGRAM is a Python script, whatever its name");
    program.flag("use-env", typed.use_env, "false: also give PROGRAM --local-rank=N");
    return {ranks_table(typed), output_table(typed), program, torchrun_table(typed)};
}

// Inserts -- before PROGRAM. Words after it that look like options belong to the program.
std::vector<std::string> with_separator(std::vector<std::string> args,
                                        const std::vector<OptionTable>& tables) {
    const auto takes_value = [&](std::string name) {
        name.erase(0, name.find_first_not_of('-'));
        const auto equals = std::min(name.find('='), name.size());
        const bool has_value = equals < name.size();
        name.erase(equals);
        std::replace(name.begin(), name.end(), '_', '-');
        refuse_option_of_torchrun(name);
        if (has_value) return false;
        for (const OptionTable& table : tables) {
            for (const Option& option : table.options()) {
                const auto& other = option.aliases;
                const bool named = option.name == name ||
                                   std::find(other.begin(), other.end(), name) != other.end();
                if (named) return option.arity == Arity::one;
            }
        }
        return name == "config";
    };
    std::size_t at = 0;
    while (at < args.size() && args[at] != "--" && args[at].starts_with("-")) {
        // torchrun's flags have no value, so `--standalone true` starts the program `true`. Only
        // this flag, which is on by default, makes sense with one.
        const bool use_env = args[at] == "--use-env" || args[at] == "--use_env";
        const bool with_value = use_env && at + 2 < args.size() && is_bool_word(args[at + 1]);
        at += takes_value(args[at]) || with_value ? 2 : 1;
    }
    if (at < args.size() && args[at] != "--") {
        args.insert(args.begin() + static_cast<std::ptrdiff_t>(at), "--");
    }
    return args;
}

int milliseconds_of(const std::string& option, double seconds) {
    constexpr double longest_s = 86'400;
    if (!(seconds > 0) || seconds > longest_s) {
        refuse("--" + option + ": give seconds, more than 0 and at most a day");
    }
    return static_cast<int>(std::lround(seconds * 1e3));
}

int ranks_of(const std::string& text, const HostResources& host) {
    if (text == "cpu") return host.cores;
    if (text == "gpu" && host.gpus == 0) refuse("--nproc-per-node gpu: this host shows no GPU");
    if (text == "gpu" || (text == "auto" && host.gpus > 0)) return host.gpus;
    if (text == "auto") return host.cores;
    if (text.empty() || !std::isdigit(static_cast<unsigned char>(text.front())))
        OptionTable::reject("nproc-per-node", text, "a number of ranks, auto, cpu or gpu");
    return static_cast<int>(parse_integer("nproc-per-node", text, 1, 4096));
}

std::vector<std::string> command_of(const Typed& typed, const std::vector<std::string>& words,
                                    const comm::Environment& environment) {
    if (words.empty()) refuse("name the program to start behind the options");
    const bool script = typed.run_path || std::filesystem::path(words.front()).extension() == ".py";
    if (typed.run_path && (typed.no_python || typed.module))
        refuse("--run-path contradicts --no-python and --module; leave them out");
    if (typed.no_python && typed.module) refuse("--module contradicts --no-python; leave one out");
    if (!typed.module && (typed.no_python || !script)) return with_own_binary(words);
    const auto chosen = environment.find("PYTHON_EXEC");
    // -u keeps a rank's last words from being lost in a buffer when it dies.
    std::vector<std::string> command{
        chosen == environment.end() ? std::string("python3") : comm::trimmed(chosen->second), "-u"};
    if (typed.module) command.push_back("-m");
    command.insert(command.end(), words.begin(), words.end());
    return command;
}

// Several launchers that do not know of each other would each make a run of its own.
void require_one_launcher(const std::vector<std::string>& words,
                          const comm::Environment& environment) {
    if (lockstep_program(words).empty()) return;
    const auto started = comm::started_tasks(environment, comm::own_standard_input());
    if (!started) return;
    refuse(std::to_string(started->count) + " launchers were started (" + started->variable +
           "), and with --nnodes 1 each would make a run of its own: start one on each host and "
           "give --nnodes, or give --standalone if this is the only one");
}

LaunchPlan plan_of(Typed typed, const std::vector<std::string>& words,
                   const comm::Environment& environment, const HostResources& host) {
    LaunchPlan plan;
    plan.ranks_per_node = ranks_of(comm::trimmed(typed.ranks_per_node), host);
    plan.threads_per_rank = std::max(1, host.cores / plan.ranks_per_node);
    plan.max_restarts = typed.max_restarts;
    plan.run_id = typed.run_id;
    plan.role = typed.role;
    plan.secret = typed.secret_file.empty() ? comm::Secret::from(environment)
                                            : comm::Secret::from_file(typed.secret_file);
    place_launcher(plan, typed.hosts, environment);
    require_ranks(words, plan.nodes * plan.ranks_per_node);
    if (plan.nodes == 1 && !typed.hosts.standalone) require_one_launcher(words, environment);
    plan.command = command_of(typed, words, environment);
    plan.line_prefix = typed.line_prefix;
    plan.ending.grace_ms = milliseconds_of("shutdown-timeout", typed.shutdown_s);
    milliseconds_of("monitor-interval", typed.monitor_s);
    if (!typed.use_env) plan.local_rank_by = LocalRankBy::own_argument;
    plan.log_folder = typed.log_folder;
    const std::string tee =
        typed.tee == "0" && typed.redirects == "0" && !typed.log_folder.empty() ? "3" : typed.tee;
    plan.sinks = sinks_of(typed.redirects, tee, plan.ranks_per_node);
    const bool to_file = std::any_of(plan.sinks.begin(), plan.sinks.end(), [](const auto& sinks) {
        return sinks.output == Sink::file || sinks.error == Sink::file;
    });
    if (to_file && plan.log_folder.empty()) refuse("--redirects needs --log-dir DIR");
    show_only(typed.shown_ranks, plan.log_folder.empty() ? Sink::nowhere : Sink::file, plan.sinks);
    return plan;
}

void require_port_of_endpoint(const LaunchHosts& hosts) {
    const int port = parse_endpoint(hosts.endpoint).port;
    if (port < 0 || hosts.master_port < 0 || port == hosts.master_port) return;
    refuse("--rdzv-endpoint " + shown(hosts.endpoint) + " contradicts --master-port " +
           std::to_string(hosts.master_port) + ": leave one out");
}

// --standalone means one host, whatever the environment says. An address of the command line takes
// precedence over one of the environment that is written in another way, and otherwise an endpoint
// does, as in torchrun.
void forget_outer_hosts(Typed& typed, const std::set<std::string>& given) {
    LaunchHosts& hosts = typed.hosts;
    const auto forget = [&](const char* option, auto& value, auto unset) {
        if (!given.contains(option)) value = unset;
    };
    if (hosts.standalone) {
        forget("nnodes", hosts.nodes, "1");
        forget("node-rank", hosts.node_rank, -1);
        forget("rdzv-conf", hosts.rendezvous, "");
        forget("master-port", hosts.master_port, -1);
        hosts.endpoint.clear();
    }
    if (given.contains("rdzv-endpoint") && given.contains("master-port") &&
        !comm::trimmed(hosts.endpoint).empty())
        require_port_of_endpoint(hosts);
    if (given.contains("master-addr")) forget("rdzv-endpoint", hosts.endpoint, "");
    if (hosts.standalone || !hosts.endpoint.empty()) forget("master-addr", hosts.master_addr, "");
}

}  // namespace

HostResources host_resources(const comm::Environment& environment) {
    HostResources host;
    host.cores = usable_cores();
    std::error_code no_driver;
    for ([[maybe_unused]] const auto& gpu :
         std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", no_driver)) {
        ++host.gpus;
    }
    const auto visible = environment.find("CUDA_VISIBLE_DEVICES");
    if (visible != environment.end()) {
        const std::string list = comm::trimmed(visible->second);
        const auto commas = std::count(list.begin(), list.end(), ',');
        const bool none = list.empty() || list.starts_with('-');  // CUDA ends at a number below 0
        host.gpus = std::min(host.gpus, none ? 0 : static_cast<int>(commas) + 1);
    }
    return host;
}

std::optional<LaunchPlan> parse_launch(const std::vector<std::string>& args,
                                       const comm::Environment& environment,
                                       const HostResources& host) {
    Typed typed;
    if (const auto prefix = environment.find("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
        prefix != environment.end())
        typed.line_prefix = prefix->second;
    const auto tables = launch_tables(typed);
    const auto words = with_separator(args, tables);
    const std::set<std::string> by_variable = take_launch_variables(tables, environment);
    const auto line = parse_or_answer(usage, words, tables);
    if (!line) return std::nullopt;
    forget_outer_hosts(typed, line->given);
    try {
        return plan_of(std::move(typed), line->rest, environment, host);
    } catch (const Error& error) {
        const auto& given = line->given;
        throw Error(error.kind(), naming_variable(error.what(), by_variable, given, environment));
    }
}

}  // namespace lockstep::launcher
