// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/compute_device.hpp"
#include "launcher/start_up/nccl_log.hpp"
#include "launcher/start_up/start_up.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/log.hpp"
#include "runtime/files/retry_transient.hpp"

namespace lockstep::launcher {

// alone: one rank, for any environment. in_job: one of the ranks that a launcher started.
enum class LaunchMode { alone, in_job };

// Connects this rank to the others, after all have joined.
struct Job {
    comm::RankInfo rank_info;
    std::unique_ptr<comm::Communicator> communicator;
    ComputeDevice device;               // its kind and precision are the same on every rank
    std::vector<std::string> notes;     // notes about the GPUs for the user
    std::unique_ptr<NcclLog> nccl_log;  // only with --verbose; null: none
    StartUp start_up;
};

comm::RankInfo rank_info_of(const RunConfig& config, LaunchMode mode);

// Connects this rank to the others and waits until every rank has joined. Throws a config error if
// their options differ. Ranks whose local ranks nobody told agree on them.
std::unique_ptr<comm::Communicator> connect(const RunConfig& config,
                                            const comm::RankInfo& rank_info);

// Returns the whole config of the run, which outlives the job. Collective.
using SharedConfig = std::function<const RunConfig&(comm::Communicator&)>;

// Waits until every rank has joined. Throws a config error when the ranks cannot compute as
// requested. It throws before waiting if this rank can detect the error alone. Before that it needs
// only the options of the launch in `launch`; the others come from `shared` if there is one.
Job join_job(const RunConfig& launch, const comm::RankInfo& rank_info,
             const SharedConfig& shared = {});

// Runs the common work of the ranks and returns the exit code. A failure is reported with rank and
// host, and the code is 3 when another rank failed, otherwise 1. Only a config error is thrown on.
int run_started(const comm::RankInfo& rank_info, const std::function<void()>& work);

// Returns what `check` returns, which only reads. While a file server or a name server fails for
// the moment, `check` is called again, for half of --timeout at most: the other ranks wait for
// --timeout, and this rank has to tell them. Standard error says so once.
template <class Check>
auto check_patiently(const RunConfig& config, const Check& check) {
    const int longest_ms = config.comm.timeout_ms / 2;
    return retry_transient(longest_ms, check, [&](const std::string& what) {
        std::cerr << "warning: " + what + "; trying again for at most " +
                         std::to_string(longest_ms / 1000) + " s\n"
                  << std::flush;
    });
}

// Returns a text such as "rank 3 on node2".
std::string rank_name(const comm::RankInfo& rank_info);
Verbosity verbosity_of(const RunConfig& config);

}  // namespace lockstep::launcher
