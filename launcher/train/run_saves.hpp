// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launcher/rank/job.hpp"
#include "launcher/train/training.hpp"
#include "runtime/comm/watch/rank_progress.hpp"
#include "runtime/core/log.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::launcher {

// What saves need of a run. The references must outlive what is made of them.
struct SavingRun {
    const RunConfig& config;
    const TrainingPlan& plan;
    const train::TrainOptions& options;
    Job& job;
    train::Engine& engine;
    Trace& trace;
    Log& log;
    comm::RankProgress* progress = nullptr;
};

// Returns the description of the model that is saved beside its weights. Rank 0 writes it, so that
// it alone looks at the folders for how transformers reads the model.
train::ModelDescription description_of(const RunConfig& config, const TrainingPlan& plan,
                                       const Job& job);

// Makes what saves the run into its model folder: each rank what it owns, if ranks share a replica
// and can all write there, else rank 0. Collective.
std::unique_ptr<train::CheckpointSink> make_saves(const SavingRun& run,
                                                  const train::ModelDescription& description,
                                                  const train::RunRecord& record);

// Writes the adapters of the model in the folder, if it has any, for programs that know PEFT's form
// alone.
void give_adapters(const std::string& model_file, const model::ModelConfig& model);

}  // namespace lockstep::launcher
