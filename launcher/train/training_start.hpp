// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/run_command.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"
#include "launcher/train/training.hpp"
#include "launcher/watch/watched_run.hpp"
#include "runtime/core/log.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::launcher {

// Holds what a rank knows before it trains. Only rank 0 reads the model folder; the other ranks get
// from it what they need.
struct TrainingStart {
    RunConfig config;
    TrainingPlan plan;
    std::optional<StoredOptions> stored;  // of the checkpoint to continue from
};

// Is thrown on a rank that does not start because of another rank, mostly rank 0, which has told
// why.
class RefusedByRank0 : public Error {
public:
    explicit RefusedByRank0(int code)
        : Error(ErrorKind::config, "rank 0 does not start"), code_(code) {}
    int code() const noexcept { return code_; }  // mostly rank 0's exit code

private:
    int code_;
};

// Takes the lock of the model folder and reads the folder, on rank 0 before it joins the others.
// The checkpoint's tensors are not read, because that may take longer than the others wait for
// rank 0. Throws what keeps the run from starting.
TrainingStart read_start(const TrainingCommand& command, const RunConfig& launch, LaunchMode mode,
                         const train::StopFlag& stop, Log& log);

// Reads all of the checkpoint, on rank 0. Damaged checkpoints are set aside, and the start becomes
// that of an older one. Removes what interrupted writers left. Throws what keeps the run from
// starting.
void verify_start(TrainingStart& start, const TrainingCommand& command, LaunchMode mode, Log& log);

// Calls verify_start() on rank 0 while all ranks watch it: they wait for it as long as it reads.
// `own` is empty on the other ranks. Collective. Where verify_start() throws, rank 0 tells it and
// throws AlreadyTold; the others throw RefusedByRank0, here or in share_start(). So does a rank
// that the watchdog ended.
void verify_together(const TrainingCommand& command, const RunConfig& launch, LaunchMode mode,
                     const WatchedRank& self, std::optional<TrainingStart>& own, Log& log);

// Returns the start of each rank; `own` is empty on all ranks except rank 0. Collective. Throws
// kind peer if another rank cannot start, kind config if the ranks' options differ with those of
// the checkpoint taken in, and RefusedByRank0.
TrainingStart share_start(const TrainingCommand& command, LaunchMode mode,
                          const comm::RankInfo& rank_info, comm::Communicator& communicator,
                          std::optional<TrainingStart> own);

// Tells the other ranks, on rank 0, that it does not start and ends with `code`; all leave
// together. The others are in verify_together() or share_start().
void share_refusal(comm::Communicator& communicator, int code);

// Calls `check` on rank 0. Where it throws kind config there, no rank starts: rank 0 tells it and
// throws AlreadyTold, and the others throw RefusedByRank0. Collective.
void check_on_rank_0(comm::Communicator& communicator, const comm::RankInfo& self,
                     const std::function<void()>& check);

}  // namespace lockstep::launcher
