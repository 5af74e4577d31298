// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/trace.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/save_failures.hpp"
#include "runtime/train/checkpoint/save_thread.hpp"
#include "runtime/train/loop/training_events.hpp"

namespace lockstep::train {

struct SaveOptions {
    KeepPolicy keep;
    int max_failures = 3;  // in a row; -1: no limit
    Saving saving = Saving::beside_training;
};

// Saves into a model folder for the trainer: the latest state as a checkpoint, the best weights as
// the folder's model. Rank 0 writes; the other ranks only help to take the tensors if
// they must. save() only copies the tensors; a thread writes them, one copy at a time. With
// Saving::training_waits it returns when they are written. A save that fails is told and leaves
// what was there; see SaveFailures. Best weights that could not be written are kept and tried again
// with each later save and at the end.
class FolderSink final : public CheckpointSink {
public:
    // Rank 0 calls `tensors` for a copy of the tensors, which must stay unchanged until the next
    // call; with Saving::training_waits they may be the training's own. It replaces
    // `record.trainer` at each save.
    FolderSink(int rank, const std::string& model_folder, const SaveOptions& options, Log& log,
               std::function<RunTensors()> tensors, ModelDescription description, RunRecord record);

    // Says which ranks call `tensors`: rank 0, or all because they hold the tensors together.
    enum class TakenBy { rank_0, all_ranks };
    void take_by(TakenBy ranks) { taken_by_ = ranks; }
    // `check` is called before each change of the folder; see CheckpointFolder. It is called from
    // the thread that writes.
    void commit_after(const BeforeCommit& check);
    // Calls `reserve`, which takes the memory of the copy, from the thread that writes, so that the
    // first save need not take it. Call it before the first save. An error of it is thrown by the
    // next save() or check(). It is not called if training waits for saves.
    void take_memory_early(std::function<void()> reserve);
    // Names the verified checkpoint that the run continues from.
    void continues_from(const std::string& checkpoint);
    // The thread that writes calls `begin` when it begins; call this before the first save.
    void begin_thread_with(std::function<void()> begin) { thread_.begin_with(std::move(begin)); }
    // Adds the time that writing takes to `trace`, which must outlive this object.
    void trace_to(Trace& trace) { trace_ = &trace; }
    // Waits for the writes of an earlier step first. Does nothing if exactly this state is saved
    // already.
    void save(CheckpointKind kind, const TrainerState& state) override;
    void check() override { thread_.check(); }
    void finish() override;

private:
    void assist(std::int64_t step);
    void take_tensors(CheckpointKind kind, std::int64_t step);
    void keep_unsaved_best();
    void start(const char* name, std::function<void()> write);
    void save_latest(const TrainerState& state);
    void save_best(std::int64_t step);
    void write_latest(const RunRecord& record, const std::string& text);
    void write_best(std::int64_t step);
    void write_model();

    int rank_;
    std::string model_folder_;
    BeforeCommit check_;
    CheckpointFolder checkpoints_;
    const Saving saving_;
    std::function<RunTensors()> take_;
    ModelDescription description_;
    RunRecord record_;
    Log& log_;
    Trace* trace_ = nullptr;  // null: no trace
    TakenBy taken_by_ = TakenBy::rank_0;
    bool told_of_waiting_ = false;
    std::optional<RunTensors> tensors_;  // of the step below
    std::int64_t tensors_step_ = -1;
    std::string queued_;  // the newest state that was given to the thread, as JSON

    // The thread changes these; the others read them only while it is idle.
    std::string saved_;                      // the state of the newest checkpoint, as JSON
    std::optional<std::int64_t> best_lost_;  // the step of best weights that could not be written
    std::vector<float> kept_best_;           // these weights; empty: tensors_ has them
    SaveFailures latest_failures_, best_failures_;

    SaveThread thread_;  // last, so that it ends before what it uses
};

}  // namespace lockstep::train
