// SPDX-License-Identifier: Apache-2.0
#include "launcher/schedulers/lsf_script.hpp"

#include "launcher/schedulers/mpirun_lines.hpp"
#include "launcher/schedulers/time_limit.hpp"
#include "launcher/slurm/ranks_environment.hpp"
#include "launcher/slurm/sbatch_script.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher {

namespace {

// LSF's %J is the job's number; it has nothing for the name.
std::string lsf_output(const SlurmJob& spec) {
    std::string output = spec.output;
    const auto replace = [&](const std::string& from, const std::string& to) {
        for (std::size_t at = 0; (at = output.find(from, at)) != std::string::npos; at += to.size())
            output.replace(at, from.size(), to);
    };
    replace("%x", spec.name);
    replace("%j", "%J");
    return output;
}

// "a100:4" is 4 of the model a100 on each host.
std::string lsf_gpus(const std::string& gpus) {
    const std::size_t colon = gpus.find(':');
    if (colon == std::string::npos) return "num=" + gpus + "/host";
    return "num=" + gpus.substr(colon + 1) + "/host:gmodel=" + gpus.substr(0, colon);
}

// LSF tells hosts and their slots in turn: node1 4 node2 4.
constexpr const char* host_lines = R"sh(
# LSF's hosts as mpirun writes them.
read -r -a slots <<< "$LSB_MCPU_HOSTS"
hosts=
for ((i = 0; i + 1 < ${#slots[@]}; i += 2)); do
    hosts+=${hosts:+,}${slots[i]}:${slots[i + 1]}
done
)sh";

}  // namespace

std::string lsf_script(const SlurmJob& spec, const std::vector<std::string>& directives) {
    std::string script = std::string(sbatch_header) + "\n# " +
                         counted(spec.nodes, "host", "hosts") + " with " +
                         counted(spec.tasks_per_node, "task", "tasks") + " each.\n";
    const auto setting = [&](const std::string& option, const std::string& value) {
        if (!value.empty()) script += "#BSUB " + option + value + "\n";
    };
    setting("-J ", spec.name);
    setting("-q ", spec.partition);
    setting("-P ", spec.account);
    setting("-n ", std::to_string(spec.nodes * spec.tasks_per_node));
    setting("-R ", "\"span[ptile=" + std::to_string(spec.tasks_per_node) + "]\"");
    if (spec.cpus_per_task > 0)
        setting("-R ", "\"affinity[core(" + std::to_string(spec.cpus_per_task) + ")]\"");
    if (!spec.gpus_per_node.empty()) setting("-gpu ", "\"" + lsf_gpus(spec.gpus_per_node) + "\"");
    constexpr std::int64_t minute_s = 60;
    if (!spec.time.empty())
        setting("-W ", std::to_string((time_limit_s(spec.time) + minute_s - 1) / minute_s));
    setting("-o ", lsf_output(spec));
    script += "#BSUB -rn\n";
    for (const std::string& line : directives) setting("", line);
    return script + ranks_environment(spec) + host_lines + mpirun_lines(spec, "--host \"$hosts\"");
}

}  // namespace lockstep::launcher
