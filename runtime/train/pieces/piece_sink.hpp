// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/trace.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "runtime/train/checkpoint/folder_sink.hpp"
#include "runtime/train/pieces/joined_weights.hpp"
#include "runtime/train/pieces/piece_writers.hpp"

namespace lockstep::train {

// Names the ranks that save together. The references must outlive the sink.
struct PieceRanks {
    comm::Communicator& all;
    Writer self;
    std::string host;  // of this rank
    OwnedAccess& owned;
};

// Takes FolderSink's place where ranks hold the state in parts and all can write into the model
// folder. Each writer writes what it owns into a draft of the checkpoint that rank 0 has made; when
// all have written, rank 0 joins the weights to one file and gives the checkpoint its name. Nobody
// holds more than a copy of its own part. Saves fail and are tried again as FolderSink's are.
class PieceSink final : public CheckpointSink {
public:
    PieceSink(const PieceRanks& ranks, const std::string& model_folder, const SaveOptions& options,
              Log& log, ModelDescription description, RunRecord record);

    // These do what FolderSink's do.
    void commit_after(const BeforeCommit& check);
    void take_memory_early();
    void continues_from(const std::string& checkpoint) { checkpoints_.trust(checkpoint); }
    void begin_thread_with(std::function<void()> begin) { thread_.begin_with(std::move(begin)); }
    void trace_to(Trace& trace) { trace_ = &trace; }

    void save(CheckpointKind kind, const TrainerState& state) override;
    bool part_is_written() const override;
    void parts_are_written() override;
    void check() override { thread_.check(); }
    void finish() override;

private:
    // A save that is not over, the same on all ranks.
    struct Job {
        CheckpointKind kind = CheckpointKind::latest;
        RunRecord record = {};
        std::string text;  // the state as JSON
        bool is_writing = true;
        // Only on rank 0:
        std::unique_ptr<CheckpointDraft> draft = {};
        std::optional<SystemFailure> failure = {};
        PieceWriters::Files files = {};
        std::vector<std::string> removed = {};
        bool is_saved = false;
    };

    bool is_first() const noexcept { return ranks_.self.rank == 0; }
    std::string tell(const std::string& text);
    void begin(CheckpointKind kind, const TrainerState& state, const RunPieces& pieces);
    std::string make_draft();
    PieceWriters::Write writing(CheckpointKind kind, const RunPieces& pieces) const;
    std::string verdict(PieceWriters::Outcome outcome);
    void conclude();
    void start_commit();
    void bear(const std::function<void()>& save);
    void commit();
    void join_into(const std::string& path, Checksum checksum);
    void add_parts();
    void keep_best(const TrainerState& state);
    void forget_best();
    RunPieces kept_pieces();

    PieceRanks ranks_;
    const std::string model_folder_;
    const Saving saving_;
    BeforeCommit check_;
    CheckpointFolder checkpoints_;
    ModelDescription description_;
    RunRecord record_;
    Log& log_;
    Trace* trace_ = nullptr;  // null: no trace
    bool told_of_waiting_ = false;
    std::optional<RunPieces> pieces_;  // of the step below
    std::int64_t pieces_step_ = -1;
    std::optional<Job> job_;
    std::string saved_;                          // the state of the newest checkpoint, as JSON
    std::optional<TrainerState> best_lost_;      // of best weights that could not be written
    std::vector<std::vector<float>> kept_best_;  // the values of their pieces
    SaveFailures latest_failures_, best_failures_;

    PieceWriters writers_;
    SaveThread thread_;  // last, so that it ends before what it uses
};

}  // namespace lockstep::train
