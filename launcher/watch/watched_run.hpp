// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/core/log.hpp"

namespace lockstep::launcher {

// Names this rank, and what connects it to the others. Both outlive the run.
struct WatchedRank {
    const comm::RankInfo& rank_info;
    comm::Communicator& communicator;
    const std::atomic<bool>* asked_to_end = nullptr;  // null: nobody would know
};

// Runs the common work of the ranks while all of them watch it. Returns the exit code: 1 when this
// rank failed, 3 when another did. A rank fails the run by an error or by making no progress for
// --timeout. This process then ends as soon as the failure is reported, wherever `work` is. `work`
// records its position in its argument, which is null when there is only one rank. A wrong request
// (kind config) is thrown on and not reported. The collectives have no limit of time afterwards.
// The report goes to rank 0's output and, unless `folder` is empty, to failure.json there, which
// replaces an earlier run's.
int run_watched(const RunConfig& config, const std::string& folder, const WatchedRank& self,
                Log& log, const std::function<void(comm::RankProgress*)>& work);

}  // namespace lockstep::launcher
