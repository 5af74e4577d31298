// SPDX-License-Identifier: Apache-2.0
#include "launcher/torchrun/launch_hosts.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "launcher/command_line/option_table.hpp"
#include "launcher/torchrun/launch_endpoint.hpp"
#include "runtime/comm/environment/address_text.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

int nodes_of(const std::string& text) {
    const std::string count = comm::trimmed(text);
    const auto colon = count.find(':');
    if (colon != std::string::npos && count.substr(0, colon) != count.substr(colon + 1)) {
        refuse("--nnodes " + shown(text) +
               ": the number of hosts cannot change during a run; give one number");
    }
    return static_cast<int>(parse_integer("nnodes", count.substr(0, colon), 1, 65536));
}

void take_endpoint(LaunchHosts& typed) {
    if (comm::trimmed(typed.endpoint).empty()) {
        typed.master_addr =
            comm::host_of_address({"--master-addr ", "--master-port"}, typed.master_addr);
        return;
    }
    if (!typed.master_addr.empty()) {
        refuse("--rdzv-endpoint and --master-addr say the same: leave one out");
    }
    const Endpoint endpoint = parse_endpoint(typed.endpoint);
    typed.master_addr = endpoint.host;
    if (endpoint.port >= 0) typed.master_port = endpoint.port;
}

// torchrun's rank=K is the node's rank. Its other keys set how long its agents wait for each other.
void read_rendezvous(LaunchHosts& typed) {
    std::istringstream in(typed.rendezvous);
    for (std::string text; std::getline(in, text, ',');) {
        const std::string pair = comm::trimmed(text);
        if (pair.empty()) continue;
        const auto equals = std::min(pair.find('='), pair.size());
        const std::string key = comm::trimmed(pair.substr(0, equals));
        if (key != "rank" || equals == pair.size()) {
            refuse("--rdzv-conf " + shown(pair) +
                   ": launchers do not wait for each other, only rank=K is known; how long ranks "
                   "wait is PROGRAM's to say (Lockstep's: --timeout)");
        }
        const auto rank =
            parse_integer("rdzv-conf", comm::trimmed(pair.substr(equals + 1)), 0, 65535);
        if (typed.node_rank >= 0 && typed.node_rank != rank) {
            refuse("--rdzv-conf " + pair + " contradicts --node-rank " +
                   std::to_string(typed.node_rank) + ": leave one out");
        }
        typed.node_rank = static_cast<int>(rank);
    }
}

// srun starts one launcher on each host. Slurm knows which one this is and on which host the first
// one runs.
void ask_slurm(LaunchHosts& typed, int nodes, const comm::Environment& environment) {
    comm::Environment slurm;
    for (const auto& [name, value] : environment) {
        if (name.starts_with("SLURM_")) slurm[name] = value;
    }
    if (!slurm.contains("SLURM_STEP_ID")) return;
    const comm::RankInfo rank_info = comm::find_rank_info(slurm, {});
    if (rank_info.size != nodes || rank_info.local_size != 1) {
        refuse("--nnodes " + std::to_string(nodes) + ": the Slurm step has " +
               std::to_string(rank_info.size) + " tasks, " + std::to_string(rank_info.local_size) +
               " on this host; start one launcher on each host: srun -N" + std::to_string(nodes) +
               " --ntasks-per-node=1");
    }
    if (typed.node_rank < 0) typed.node_rank = rank_info.rank;
    if (typed.master_addr.empty()) {
        typed.master_addr = rank_info.master_addr;
        if (typed.master_port < 0) typed.master_port = rank_info.master_port;
    }
}

void place_on_several_hosts(LaunchPlan& plan, LaunchHosts typed,
                            const comm::Environment& environment) {
    if (typed.standalone) refuse("--standalone means one host: leave it or --nnodes out");
    if (typed.node_rank < 0 || typed.master_addr.empty()) {
        ask_slurm(typed, plan.nodes, environment);
    }
    if (typed.node_rank < 0) {
        refuse("--node-rank: give this host's number, 0 to " + std::to_string(plan.nodes - 1));
    }
    if (typed.node_rank >= plan.nodes) {
        refuse("--node-rank " + std::to_string(typed.node_rank) + ": --nnodes " +
               std::to_string(plan.nodes) + " are 0 to " + std::to_string(plan.nodes - 1));
    }
    if (typed.master_addr.empty()) refuse("--master-addr: name the host of --node-rank 0");
    if (typed.master_port == 0)
        refuse((typed.endpoint.empty() ? std::string("--master-port 0")
                                       : "--rdzv-endpoint " + shown(typed.endpoint)) +
               ": the other hosts cannot know which port is free on this one; give one number to "
               "all hosts, 29500 for example");
    plan.node_rank = typed.node_rank;
    plan.master_addr = typed.master_addr;
    plan.master_port = typed.master_port < 0 ? comm::default_master_port : typed.master_port;
}

void place_on_one_host(LaunchPlan& plan, const LaunchHosts& typed) {
    if (typed.node_rank > 0) {
        refuse("--node-rank " + std::to_string(typed.node_rank) +
               ": there is one host; give --nnodes");
    }
    // --master-addr is not used because a host's own name may lead to an address that is not its
    // own.
    plan.master_port = std::max(typed.master_port, 0);
}

}  // namespace

void refuse(const std::string& message) { throw Error(ErrorKind::config, message); }

void place_launcher(LaunchPlan& plan, LaunchHosts typed, const comm::Environment& environment) {
    plan.nodes = nodes_of(typed.nodes);
    take_endpoint(typed);
    read_rendezvous(typed);
    if (typed.master_port > 65535) refuse("--master-port: ports go from 1 to 65535");
    if (plan.nodes > 1) {
        place_on_several_hosts(plan, std::move(typed), environment);
    } else {
        place_on_one_host(plan, typed);
    }
}

}  // namespace lockstep::launcher
