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

// What config.json says: the model's options as the caller's JSON object, and its dictionary.
struct ModelDescription {
    std::string config_json;
    std::string dictionary_hash;
};

// Writes the model that evaluation and chat use: FOLDER/config.json and FOLDER/model.safetensors,
// each atomically. Makes the folder.
void save_model(const std::string& folder, const ModelDescription& description,
                const ParameterTable& table, HostView<float> master);
void save_description(const std::string& folder, const ModelDescription& description);
// A missing config.json is an io error, a damaged one a data error.
ModelDescription read_description(const std::string& folder);

// The newest checkpoint of a model folder that verifies. Empty if there is none at all; a data
// error if there are some and all are damaged.
std::optional<std::string> newest_good_checkpoint(const std::string& model_folder);

// The checkpoints of a model folder, MODEL/checkpoints/step-00001234 by trainer.step.
class CheckpointFolder {
public:
    // Keeps the newest `keep` (at least 1). Touches no file.
    CheckpointFolder(const std::string& model_folder, int keep, Log& log);

    // What interrupted writers left goes before. Once the new one is on disk older ones go, and
    // those of later steps: a run that is back at an earlier step had found them damaged.
    void save(const RunTensors& tensors, const RunRecord& record);
    std::vector<std::string> paths() const;  // newest first
    // As newest_good_checkpoint(); each damaged one that is passed over is named in the log.
    std::optional<std::string> newest_good() const;

private:
    void remove(const std::string& path);

    std::string folder_;
    int keep_;
    Log& log_;
};

// Saves into a model folder on behalf of the trainer: the latest as a checkpoint, the best as the
// folder's model. Rank 0 writes, the others do nothing.
class FolderSink final : public CheckpointSink {
public:
    // `fetch` gives what is to be saved, `record.trainer` is replaced; both at each save, on rank
    // 0.
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
