// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "data/storage/dataset.hpp"
#include "data/tokenizers/tokenizer.hpp"
#include "model/config.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"

namespace lockstep::launcher {

// A model folder holds config.json, the tokenizer's files, model.safetensors, checkpoints/ and
// metrics. A folder of PEFT's with adapters counts as one; its base has the rest.

bool holds_model(const std::string& folder);
// Throws a config error when the folder holds no model.
void require_model(const std::string& folder);

// Returns the folder itself when it exists, otherwise the nearest existing folder above it.
std::filesystem::path nearest_existing(const std::string& folder);

// Throws a config error when the folder cannot be created or written to.
void require_writable(const std::string& folder);

// Returns the free bytes of the folder's disk plus the bytes of the files already in the folder,
// because a run replaces these files one after the other.
std::uintmax_t room_for(const std::string& folder);

// Throws a config error when the folder has room for fewer bytes. A failure at the start is better
// than one hours later.
void require_room(const std::string& folder, std::uintmax_t bytes);

// Names the model folder that a run continues from, and the option that named it, for messages.
struct ModelSource {
    std::string folder;
    const char* option = "-mf";
};

// Returns the run's own folder, or the folder of the initial weights when there is no model yet.
// Throws a config error if these do not exist.
ModelSource source_of(const std::string& model_file, const std::string& init_model);

// Returns the model that a training run uses. When the folder already holds a model, the stored
// options count. An option that the user gave (`given`) and that contradicts the folder is a config
// error, unless it changes no weight (dropout, label smoothing). A different dictionary of the data
// is a config error, too.
model::ModelConfig agree_on_model(const ModelSource& source, model::ModelConfig wanted,
                                  const std::set<std::string>& given, const data::Dataset& dataset);

// Does the same before there is data. `wanted` must have its vocabulary when the folder holds no
// model.
model::ModelConfig agree_on_model(const ModelSource& source, const model::ModelConfig& wanted,
                                  const std::set<std::string>& given);

// Creates the folder with its config.json and the data's tokenizer. Rank 0 calls it before anything
// else is written.
void create_model_folder(const std::string& folder, const train::ModelDescription& description,
                         const data::Dataset& dataset);

// Holds the config and the tokenizer of an existing model. Both were checked against each other.
struct OpenedModel {
    model::ModelConfig config;
    std::unique_ptr<data::Tokenizer> tokenizer;
    std::string dictionary_hash;
};
OpenedModel open_model_folder(const std::string& folder);

// Returns the model folder that `path`, the value of --init-model, belongs to. `path` may be the
// folder itself, a checkpoint or a file inside it. The result is empty when no config.json
// describes the weights.
std::string model_folder_of(const std::string& path);

// Throws a config error that names both dictionaries when the model was trained with another one
// than the data's, and a data error when dataset.json does not fit its dictionary.
void require_same_dictionary(const OpenedModel& model, const std::string& folder,
                             const data::Dataset& dataset);

}  // namespace lockstep::launcher
