// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "model/config.hpp"

namespace lockstep::launcher {

// Weights and checkpoints carry the config of the model that they were saved from, because a
// changed activation or number of heads gives other results from the same weights without a word.

// Returns what model.safetensors, or state.json beside it, says of the model that the weights
// belong to. Empty: files of earlier versions, and those of other programs, say nothing. Throws
// kind data if it cannot be understood.
std::optional<model::ModelConfig> recorded_model(const std::string& weights);

// Returns which member of `config`, which was read from FOLDER/config.json, contradicts what
// `weights` record, with both values; empty: none. Dropout and label smoothing may differ, because
// no weight depends on them.
std::string contradiction(const std::string& folder, const model::ModelConfig& config,
                          const std::string& weights);

// Throws a config error if the folder's config.json contradicts `weights`. A folder without it
// passes.
void require_recorded_model(const std::string& folder, const std::string& weights);

}  // namespace lockstep::launcher
