// SPDX-License-Identifier: Apache-2.0
#include "launcher/schedulers/pbs_script.hpp"

#include <algorithm>
#include <cctype>

#include "launcher/schedulers/mpirun_lines.hpp"
#include "launcher/schedulers/time_limit.hpp"
#include "launcher/slurm/ranks_environment.hpp"
#include "launcher/slurm/sbatch_script.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher {

namespace {

// Returns a size as PBS writes it: "64G" is "64gb", and without a unit sbatch's are megabytes.
std::string pbs_size(std::string size) {
    const char unit = size.back();
    if (std::isdigit(static_cast<unsigned char>(unit)) != 0) return size + "mb";
    size.back() = static_cast<char>(std::tolower(static_cast<unsigned char>(unit)));
    return size + "b";
}

// A chunk is what one host gives; PBS lists the host once for each of its mpiprocs.
std::string chunks(const SlurmJob& spec) {
    const int cores = spec.tasks_per_node * std::max(1, spec.cpus_per_task);
    std::string text = std::to_string(spec.nodes) + ":ncpus=" + std::to_string(cores) +
                       ":mpiprocs=" + std::to_string(spec.tasks_per_node);
    if (!spec.gpus_per_node.empty()) text += ":ngpus=" + spec.gpus_per_node;
    if (!spec.memory.empty()) text += ":mem=" + pbs_size(spec.memory);
    return text;
}

}  // namespace

std::string pbs_script(const SlurmJob& spec, const std::vector<std::string>& directives) {
    std::string script = std::string(sbatch_header) + "\n# " +
                         counted(spec.nodes, "host", "hosts") + " with " +
                         counted(spec.tasks_per_node, "task", "tasks") + " each.\n";
    const auto setting = [&](const std::string& option, const std::string& value) {
        if (!value.empty()) script += "#PBS " + option + value + "\n";
    };
    setting("-N ", spec.name);
    setting("-q ", spec.partition);
    setting("-A ", spec.account);
    setting("-l select=", chunks(spec));
    setting("-l place=", "scatter");
    if (!spec.time.empty()) setting("-l walltime=", wall_time(time_limit_s(spec.time)));
    setting("-j ", "oe");
    if (spec.output != SlurmJob().output) setting("-o ", spec.output);
    setting("-r ", "n");
    for (const std::string& line : directives) setting("", line);
    script += "\ncd \"$PBS_O_WORKDIR\" || exit 1\n" + ranks_environment(spec);
    return script + mpirun_lines(spec, "--hostfile \"$PBS_NODEFILE\"");
}

}  // namespace lockstep::launcher
