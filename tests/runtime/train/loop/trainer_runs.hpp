// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/runtime/train/training_run.hpp"

namespace lockstep::tests::trainer_runs {

// A short run of two ranks that compare their weights after every update.
inline RunSetup two_ranks() {
    RunSetup setup;
    setup.world = 2;
    setup.options.lanes = 3;
    setup.options.optimizer.learningrate = 0.05;
    setup.options.schedule.warmup_updates = 4;
    setup.options.limits.max_train_steps = 12;
    setup.options.hash_every_n_updates = 1;
    return setup;
}

// Returns the run's last checkpoint to continue from.
inline const Snapshot& last_latest(const RankRun& run) {
    const auto found = std::find_if(run.saves.rbegin(), run.saves.rend(), [](const auto& save) {
        return save.kind == train::CheckpointKind::latest;
    });
    REQUIRE(found != run.saves.rend());
    return *found;
}

}  // namespace lockstep::tests::trainer_runs
