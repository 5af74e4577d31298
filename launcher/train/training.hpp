// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options/run_command.hpp"
#include "launcher/options/run_config.hpp"
#include "launcher/rank/data_sets.hpp"
#include "launcher/rank/job.hpp"
#include "launcher/train/schedule_end.hpp"
#include "runtime/train/folder/folder_lock.hpp"

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
    ScheduleEnd schedule_end = {};  // as rank 0 counts it
};

// Throws a config error for every wrong request that can be detected without the other ranks.
// Shards may be on other hosts in a job.
TrainingPlan check_training(const RunConfig& config, LaunchMode mode);

// Describes the model that rank 0 trains, as it tells the other ranks.
struct SharedModel {
    model::ModelConfig config;
    std::string dictionary_hash;
    std::string content;  // content_of() the training sets
};
// Does so on a rank that does not look at the model folder.
TrainingPlan check_training(const RunConfig& config, LaunchMode mode, const SharedModel& model);

// Belongs to the usage of each training program.
inline constexpr const char* how_to_continue =
    "Where -mf has a checkpoint, the run continues from it, and -mf DIR alone is enough: all "
    "options\n"
    "come from the checkpoint, but not ranks, --device, --threads and output. Options that are "
    "given\n"
    "replace those of the checkpoint. Ctrl-C, TERM, HUP and USR1 stop a run with a checkpoint.\n";

// Holds the command line of a training program.
struct TrainingCommand {
    std::string program;
    std::string usage;
    std::vector<std::string> args;
    Ranks ranks;
};

// Trains as one rank until the end or a requested stop. Returns the exit code.
int run_training(const TrainingCommand& command, LaunchMode mode);

}  // namespace lockstep::launcher
