// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/config.hpp"
#include "model/devices/model.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/train/step/engine.hpp"

namespace lockstep::launcher {

// The weights that adapters are added to. They belong to a folder of transformers, which no run
// changes; a run keeps their hash.

// Reads all of them and returns their hash. It depends on names, shapes and values, not on how they
// are divided into files. Throws a config error if they are not those of the model, or if
// config.lora has another hash.
std::string hash_of_base(const model::ModelConfig& config);

// Reads what stays of them into the model, whose config this is. Throws as above.
void load_base(const model::ModelConfig& config, model::Model& model);
// Does so on all ranks, of which only rank 0 reads files. Collective.
void load_base(const model::ModelConfig& config, model::Model& model, comm::Communicator& ranks);

// Gives the tables that are trained whole the base's values, from which new adapters begin.
// Collective if the ranks of the engine share a replica; otherwise rank 0 alone needs them.
void begin_tables(const model::ModelConfig& config, model::Model& model, train::Engine& engine,
                  comm::Communicator& ranks);

}  // namespace lockstep::launcher
