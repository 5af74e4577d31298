// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/torchrun/launch_plan.hpp"

namespace lockstep::launcher {

// Holds the options about hosts as they were typed; -1 and empty: not given.
struct LaunchHosts {
    std::string nodes = "1", endpoint, rendezvous, master_addr;
    int node_rank = -1, master_port = -1;  // a port of 0 is any free one
    bool standalone = false;
};

// Throws a config error with the message.
[[noreturn]] void refuse(const std::string& message);

// Sets the plan's hosts and master. Values for several hosts that are not given come from the Slurm
// step that runs one launcher on each host. Throws a config error when a value is not known.
void place_launcher(LaunchPlan& plan, LaunchHosts typed, const comm::Environment& environment);

}  // namespace lockstep::launcher
