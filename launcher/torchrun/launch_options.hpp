// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/torchrun/launch_plan.hpp"

namespace lockstep::launcher {

// What auto, cpu and gpu stand for on this host.
struct HostResources {
    int cores = 1;
    int gpus = 0;
};

HostResources host_resources(const comm::Environment& environment);

// The plan of the words behind `distributed_launch`: torchrun's options, an optional --, the
// program with its arguments. Where srun started one launcher on each host, the node's rank and the
// master come from Slurm unless they are given. Empty where --help or --dump-config was answered.
// Throws a config error that names the option.
std::optional<LaunchPlan> parse_launch(const std::vector<std::string>& args,
                                       const comm::Environment& environment,
                                       const HostResources& host);

}  // namespace lockstep::launcher
