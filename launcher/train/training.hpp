// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "launcher/options/run_config.hpp"
#include "launcher/rank/data_sets.hpp"
#include "launcher/rank/job.hpp"

namespace lockstep::launcher {

// What a training run works on, found out by reading only.
struct TrainingPlan {
    DataSets data;
    std::vector<double> weights;  // of `data`
    DataSets validation;          // none: no validations
    model::ModelConfig model;
    std::optional<std::string> checkpoint;  // to continue from
};

// Throws a config error for every wrong request that can be told without the other ranks.
// In a job, shards may lie on other hosts.
TrainingPlan check_training(const RunConfig& config, LaunchMode standing);

// Trains as one rank, to the end or to a requested stop. Returns the exit code.
int run_training(const RunConfig& config, LaunchMode standing);

}  // namespace lockstep::launcher
