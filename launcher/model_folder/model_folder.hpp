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

// A model's folder: config.json, the tokenizer's files, model.safetensors, checkpoints/, metrics.

bool holds_model(const std::string& folder);
// Error{config} where it holds none.
void require_model(const std::string& folder);

// The folder itself, or the nearest one above it that is there.
std::filesystem::path nearest_existing(const std::string& folder);

// Throws a config error where the folder cannot be made or written to.
void require_writable(const std::string& folder);

// The free bytes of the folder's disk with those that it holds already, which are replaced bit by
// bit.
std::uintmax_t room_for(const std::string& folder);

// Throws a config error where there is less: better told at the start than hours later.
void require_room(const std::string& folder, std::uintmax_t bytes);

// Where a model comes from that a run goes on with, for messages: the option that names it.
struct ModelSource {
    std::string folder;
    const char* option = "-mf";
};

// The model that a training run uses. In a folder that holds one already, its own options count:
// one that the user gave (`given`) and that contradicts the folder is a config error, unless it
// changes no weight (dropout, label smoothing). Throws too where the data's dictionary is another.
model::ModelConfig agree_on_model(const ModelSource& source, model::ModelConfig wanted,
                                  const std::set<std::string>& given, const data::Dataset& dataset);

// The same before there is data: the folder's own, or what was wanted, whose vocabulary is then
// set.
model::ModelConfig agree_on_model(const std::string& folder, const model::ModelConfig& wanted,
                                  const std::set<std::string>& given);

// Makes the folder with its config.json and the data's tokenizer. Rank 0 calls it, before any other
// writing.
void create_model_folder(const std::string& folder, const train::ModelDescription& description,
                         const data::Dataset& dataset);

// Config and tokenizer of an existing model, checked against each other.
struct OpenedModel {
    model::ModelConfig config;
    std::unique_ptr<data::Tokenizer> tokenizer;
    std::string dictionary_hash;
};
OpenedModel open_model_folder(const std::string& folder);

// The model folder that `path`, the value of --init-model, belongs to: itself, or that of a
// checkpoint or of a file inside it. Empty where no config.json says what the weights are.
std::string model_folder_of(const std::string& path);

// Throws a config error naming both where the model was trained with another dictionary.
void require_same_dictionary(const OpenedModel& model, const std::string& folder,
                             const data::Dataset& dataset);

}  // namespace lockstep::launcher
