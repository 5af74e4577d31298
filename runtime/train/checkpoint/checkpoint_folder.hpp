// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
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
                const ParameterTable& table, HostView<float> master,
                const BeforeCommit& before_commit = {});
void save_description(const std::string& folder, const ModelDescription& description);
// Throws kind io for a missing config.json and kind data for a damaged one.
ModelDescription read_description(const std::string& folder);

struct DamagedCheckpoint {
    std::string path, why;
};

// Names the checkpoint of a model folder that a run uses, and the newer ones that were verified as
// damaged, newest first.
struct CheckpointChoice {
    std::optional<std::string> path;  // empty: the folder surely has no checkpoint
    std::vector<DamagedCheckpoint> damaged;
};

// Returns the newest checkpoint that verifies, and changes nothing. Only a checkpoint whose
// contents are wrong counts as damaged. Transient failures are tried again for a few seconds and
// then throw TransientFailure. A folder or file that cannot be read throws kind io, a newer format
// kind config, and a folder with only damaged checkpoints kind data.
CheckpointChoice choose_checkpoint(const std::string& model_folder);
std::optional<std::string> newest_good_checkpoint(const std::string& model_folder);

// Renames the damaged checkpoints to step-XXXXXXXX.damaged and names them in one line of `log`. No
// other run may use the folder.
void set_aside(const CheckpointChoice& choice, Log& log);

// Manages the checkpoints of a model folder. They are named MODEL/checkpoints/step-00001234 after
// trainer.step.
class CheckpointFolder {
public:
    // Keeps the newest `keep` checkpoints (at least 1). The constructor touches no file.
    CheckpointFolder(const std::string& model_folder, int keep, Log& log);

    // `check` is called before anything is removed and before each commit. It throws when the
    // folder is no longer this run's.
    void commit_after(BeforeCommit check);
    // Counts a checkpoint that was verified among those that are kept.
    void trust(const std::string& path);
    // Saves a checkpoint. It first removes the leftovers of interrupted writers. Once the new
    // checkpoint is on disk, it removes a checkpoint only if `keep` newer ones are good, which
    // means that this object wrote or trusts them. It never removes those of later steps.
    void save(const RunTensors& tensors, const RunRecord& record);
    std::vector<std::string> paths() const;  // newest first

private:
    void remove_older_than(const std::string& saved);
    void remove(const std::string& path);

    std::set<std::string> good_;  // names
    BeforeCommit check_;
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

    // `check` is called before each change of the folder; see CheckpointFolder.
    void commit_after(const BeforeCommit& check);
    // Names the verified checkpoint that the run continues from.
    void continues_from(const std::string& checkpoint);
    void save(CheckpointKind kind, const TrainerState& state) override;

private:
    int rank_;
    std::string model_folder_;
    BeforeCommit check_;
    CheckpointFolder checkpoints_;
    std::function<RunTensors()> fetch_;
    ModelDescription description_;
    RunRecord record_;
};

}  // namespace lockstep::train
