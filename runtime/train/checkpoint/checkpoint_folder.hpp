// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/log.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::train {

// Holds the contents of config.json: the model's options as the caller's JSON object, and the hash
// of its dictionary.
struct ModelDescription {
    std::string config_json;
    std::string dictionary_hash;
};

// Writes the model that evaluation and chat use: FOLDER/config.json and FOLDER/model.safetensors,
// each atomically. It makes the folder.
void save_model(const std::string& folder, const ModelDescription& description,
                const ParameterTable& table, HostView<float> master);
void save_description(const std::string& folder, const ModelDescription& description);
// Throws kind io for a missing config.json and kind data for a damaged one.
ModelDescription read_description(const std::string& folder);

// Returns the newest checkpoint of a model folder that verifies. It is empty if there is none; kind
// data is thrown if there are some and all are damaged.
std::optional<std::string> newest_good_checkpoint(const std::string& model_folder);

// Manages the checkpoints of a model folder. They are named MODEL/checkpoints/step-00001234 after
// trainer.step.
class CheckpointFolder {
public:
    // Keeps the newest `keep` checkpoints (at least 1). The constructor touches no file.
    CheckpointFolder(const std::string& model_folder, int keep, Log& log);

    // Saves a checkpoint. It first removes the leftovers of interrupted writers. Once the new
    // checkpoint is on disk it removes older ones, and also those of later steps: a run that is
    // back at an earlier step had found them damaged.
    void save(const RunTensors& tensors, const RunRecord& record);
    std::vector<std::string> paths() const;  // newest first
    // Works as newest_good_checkpoint(), and logs the name of each damaged checkpoint that is
    // passed over.
    std::optional<std::string> newest_good() const;

private:
    void remove(const std::string& path);

    std::string folder_;
    int keep_;
    Log& log_;
};

// Saves into a model folder for the trainer: the latest state as a checkpoint, the best weights as
// the folder's model. Rank 0 writes; the other ranks do nothing.
class FolderSink final : public CheckpointSink {
public:
    // Rank 0 calls `fetch` for the tensors and replaces `record.trainer` at each save.
    FolderSink(int rank, const std::string& model_folder, int keep, Log& log,
               std::function<RunTensors()> fetch, ModelDescription description, RunRecord record);

    void save(CheckpointKind kind, const TrainerState& state) override;

private:
    int rank_;
    std::string model_folder_;
    CheckpointFolder checkpoints_;
    std::function<RunTensors()> fetch_;
    ModelDescription description_;
    RunRecord record_;
};

}  // namespace lockstep::train
