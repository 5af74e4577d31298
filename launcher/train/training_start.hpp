// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/options/run_command.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/rank/job.hpp"
#include "launcher/train/training.hpp"
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

// Is thrown on the other ranks when rank 0, which has told why, does not start.
class RefusedByRank0 : public Error {
public:
    explicit RefusedByRank0(int code)
        : Error(ErrorKind::config, "rank 0 does not start"), code_(code) {}
    int code() const noexcept { return code_; }  // rank 0's exit code

private:
    int code_;
};

// Takes the lock of the model folder and reads the folder, on rank 0 before it joins the others.
// Damaged checkpoints are set aside. Throws what keeps the run from starting.
TrainingStart read_start(const TrainingCommand& command, const RunConfig& launch, LaunchMode mode,
                         const train::StopFlag& stop, Log& log);

// Returns the start of each rank; `own` is empty on all ranks except rank 0. Collective. Throws
// kind peer if another rank cannot start, and RefusedByRank0.
TrainingStart share_start(const TrainingCommand& command, LaunchMode mode,
                          const comm::RankInfo& rank_info, comm::Communicator& communicator,
                          std::optional<TrainingStart> own);

// Tells the other ranks, on rank 0, that it does not start and ends with `code`. Collective.
void share_refusal(comm::Communicator& communicator, int code);

}  // namespace lockstep::launcher
