// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "launcher/rank/job.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "launcher/train/training.hpp"
#include "model/devices/model.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::launcher {

// Fills a run's weights and optimizer state from a checkpoint that only rank 0 names: each rank
// reads what it owns, if ranks share a replica and all see rank 0's files, else rank 0 reads all of
// it. Returns what the checkpoint says of its run on rank 0, and nothing on the others or if there
// is no checkpoint. Collective.
std::optional<train::RunRecord> load_state(const std::optional<std::string>& checkpoint,
                                           train::Engine& engine, comm::Communicator& ranks);

// Fills a run's weights from a model folder, a checkpoint or a .safetensors file that rank 0 names,
// in the same way. Collective.
void load_shared_weights(const std::string& path, model::Model& model, train::Engine& engine,
                         comm::Communicator& ranks);
// Returns the file or folder that a run's first weights are read from; empty: they are initial
// ones, or those that the model's own folder has. `warn` is told of damaged checkpoints.
std::string first_weights(const RunConfig& config, const model::ModelConfig& model,
                          const Warn& warn);
// Does so of a run with adapters, and tells it.
std::string first_adapters(const RunConfig& config, const model::ModelConfig& model, Log& log);
// Tells that a run starts from the weights of --init-model, which are read from `weights`.
std::string first_weights_text(const std::string& init_model, const std::string& weights);
// Tells that a model which has been trained goes on at adam's default rate, if no other was given.
void tell_default_rate(const RunConfig& config, Log& log);
// Tells that a run that continues reads none of the weights that its options name.
void tell_unread(const RunConfig& config, Log& log);
// What weights are made of that no file holds.
struct NewWeights {
    const model::ModelConfig& config;
    std::uint64_t seed = 0;
};
// Gives a run its first weights: those of the file that rank 0 names, or new ones if that is empty.
// Collective.
void load_first_weights(const std::string& path, const NewWeights& made, model::Model& model,
                        train::Engine& engine, comm::Communicator& ranks);

}  // namespace lockstep::launcher
