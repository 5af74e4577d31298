// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/torchrun/launch_plan.hpp"

namespace lockstep::launcher {

// Gives the meaning of auto, cpu and gpu on this host.
struct HostResources {
    int cores = 1;
    int gpus = 0;
};

HostResources host_resources(const comm::Environment& environment);

// Parses the words after `distributed_launch`: torchrun's options, an optional --, and the program
// with its arguments. Slurm provides the node's rank and the master, unless they are given, when
// srun started one launcher on each host. The result is empty when --help or --dump-config was
// answered. Throws a config error that names the option.
std::optional<LaunchPlan> parse_launch(const std::vector<std::string>& args,
                                       const comm::Environment& environment,
                                       const HostResources& host);

}  // namespace lockstep::launcher
