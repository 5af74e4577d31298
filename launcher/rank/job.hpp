// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/compute_device.hpp"
#include "launcher/rank/nccl_log.hpp"
#include "launcher/rank/start_up.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/place/rank_info.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// alone: one rank, whatever the environment says. in_job: one rank of what a launcher started.
enum class LaunchMode { alone, in_job };

// This rank among the others, once all have joined.
struct Job {
    comm::RankInfo place;
    std::unique_ptr<comm::Communicator> communicator;
    ComputeDevice device;               // of the same kind and precision on every rank
    std::vector<std::string> notes;     // what the user is to know of the GPUs
    std::unique_ptr<NcclLog> nccl_log;  // of a rank that says more; null: none
    StartUp start_up;
};

comm::RankInfo place_of(const RunConfig& config, LaunchMode standing);

// Waits until every rank has joined. Throws a config error where the ranks cannot compute on what
// was asked for, before it waits where this rank can tell alone.
Job join_job(const RunConfig& config, const comm::RankInfo& place);

// Runs what the ranks do together and returns the exit code. What fails now is told with rank and
// host, and is 3 where another rank failed, else 1; only a wrong request is thrown on.
int run_started(const comm::RankInfo& place, const std::function<void()>& work);

// "rank 3 on node2"
std::string rank_name(const comm::RankInfo& place);
Verbosity verbosity_of(const RunConfig& config);

}  // namespace lockstep::launcher
