// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/data_sets.hpp"
#include "launcher/rank/job.hpp"
#include "runtime/train/checkpoint/folder_lock.hpp"

namespace lockstep::launcher {

// Holds the inputs of a training run, found by reading only.
struct TrainingPlan {
    DataSets data;
    std::vector<double> weights;  // weights of `data`
    DataSets validation;          // none: no validations
    model::ModelConfig model;
    // The checkpoint to continue from. Only rank 0 looks for it: on many ranks the same look would
    // read the same gigabytes from the same file server.
    std::optional<std::string> checkpoint;
    // The lock of the model folder on rank 0 of a run; null elsewhere.
    std::unique_ptr<train::FolderLock> lock;
};

// Throws a config error for every wrong request that can be detected without the other ranks.
// Shards may be on other hosts in a job.
TrainingPlan check_training(const RunConfig& config, LaunchMode mode);

// Throws what would keep rank 0 from continuing from the model folder's checkpoints, so that a
// launcher finds it before it starts the ranks. Changes nothing.
void check_checkpoints(const RunConfig& config);

// Trains as one rank until the end or a requested stop. Returns the exit code.
int run_training(const RunConfig& config, LaunchMode mode);

}  // namespace lockstep::launcher
