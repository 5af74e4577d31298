// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/torchrun/launch_plan.hpp"

namespace lockstep::launcher {

// The options about hosts as they were typed; -1 and empty: not given.
struct LaunchHosts {
    std::string nodes = "1", endpoint, rendezvous, master_addr;
    int node_rank = -1, master_port = -1;
    bool standalone = false;
};

// Sets the plan's hosts and master. What is not given for several hosts comes from the Slurm step
// that has one launcher on each of them; throws a config error where nobody says it.
void place_launcher(LaunchPlan& plan, LaunchHosts typed, const comm::Environment& environment);

}  // namespace lockstep::launcher
