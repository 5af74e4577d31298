// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/save_failures.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::train {

struct SaveOptions {
    KeepPolicy keep;
    int max_failures = 3;  // in a row; -1: no limit
};

// Saves into a model folder for the trainer: the latest state as a checkpoint, the best weights as
// the folder's model. Rank 0 writes; the other ranks do nothing. A save that fails is told and
// leaves what was there; see SaveFailures.
class FolderSink final : public CheckpointSink {
public:
    // Rank 0 calls `fetch` for the tensors and replaces `record.trainer` at each save.
    FolderSink(int rank, const std::string& model_folder, const SaveOptions& options, Log& log,
               std::function<RunTensors()> fetch, ModelDescription description, RunRecord record);

    // `check` is called before each change of the folder; see CheckpointFolder.
    void commit_after(const BeforeCommit& check);
    // Names the verified checkpoint that the run continues from.
    void continues_from(const std::string& checkpoint);
    // Does nothing if exactly this state is saved already.
    void save(CheckpointKind kind, const TrainerState& state) override;
    void finish() override;

private:
    void save_latest(const TrainerState& state);
    void save_best(const TrainerState& state);

    int rank_;
    std::string model_folder_;
    BeforeCommit check_;
    CheckpointFolder checkpoints_;
    std::function<RunTensors()> fetch_;
    ModelDescription description_;
    RunRecord record_;
    std::string saved_;  // the state of the newest checkpoint, as JSON
    SaveFailures latest_failures_, best_failures_;
};

}  // namespace lockstep::train
